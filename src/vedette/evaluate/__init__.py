"""Labelled rows through a task: an honest report, or a threshold file."""
