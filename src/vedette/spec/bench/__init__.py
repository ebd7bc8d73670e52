"""Ways of guessing ahead against each other, on the same prompts and in turns."""
