"""Anything that answers requests, behind one protocol."""
