"""Closed questions answered by scoring."""
