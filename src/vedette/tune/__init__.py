"""Weights made fast for this machine: measured, packed anew, held against the source."""
