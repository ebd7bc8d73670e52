"""Rows that say the same: exact, near, and where rules cannot tell, what a model says of a pair."""

from .amounts import amount_of
from .clusters import Clusters, GreyPair, Verdict
from .finder import Finder, Matching
from .normalise import Normalise

__all__ = ["Clusters", "Finder", "GreyPair", "Matching", "Normalise", "Verdict", "amount_of"]
