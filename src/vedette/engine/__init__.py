"""The in-process engine: knows tokens, not tasks."""
