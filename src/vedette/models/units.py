"""Sizes for people."""

from __future__ import annotations


def human_bytes(n_bytes: int) -> str:
    """A size in decimal units with three digits, as disks and downloads are sold: `491 MB`."""
    value = float(n_bytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.5 or unit == "TB":
            break
        value /= 1000
    if unit == "B" or value >= 99.95:
        return f"{value:.0f} {unit}"
    return f"{value:.1f} {unit}" if value >= 9.995 else f"{value:.2f} {unit}"


def human_count(n: int) -> str:
    """A count with three digits: `494M`."""
    value = float(n)
    for unit in ("", "k", "M", "B", "T"):
        if value < 999.5 or unit == "T":
            break
        value /= 1000
    if unit == "" or value >= 99.95:
        return f"{value:.0f}{unit}"
    return f"{value:.1f}{unit}" if value >= 9.995 else f"{value:.2f}{unit}"
