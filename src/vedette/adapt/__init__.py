"""From labelled rows to a LoRA adapter that is kept only if it makes the task's answers better.

Training needs what the extra `train` brings, in a process of its own (`training.py`); all else
here does without.
"""
