"""Guessing tokens and checking several at once: exact output, measured worth."""
