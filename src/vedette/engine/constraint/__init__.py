"""What an output may be: compiled once, forked per sequence, never dropped."""

from .compiler import Compiler
from .matcher import Matcher

__all__ = ["Compiler", "Matcher"]
