"""Answers that a calibration does not vouch for go to a larger model, and are accounted for."""

from .classify import GatedClassify
from .decide import GatedDecide
from .kinds import gate_of
from .price import Price, parse_price
from .subject import Subject, Verdict
from .task import AUDIT_SHARE, Gate

__all__ = [
    "AUDIT_SHARE",
    "Gate",
    "GatedClassify",
    "GatedDecide",
    "Price",
    "Subject",
    "Verdict",
    "gate_of",
    "parse_price",
]
