"""Should a small model guess for a large one here: memory, speed, and the command that follows."""
