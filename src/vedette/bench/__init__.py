"""Measurements on this machine, against real peers."""
