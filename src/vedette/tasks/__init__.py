"""One file per task; prompts beside them as data."""
