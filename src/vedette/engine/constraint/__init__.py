"""What an output may be: compiled once, forked per sequence, never dropped."""

import os

# Where RUST_BACKTRACE is set, the grammar engine takes down its whole stack for each level of an
# error: a refusal that is a thousand rules deep then costs seconds. It is read at the first error.
if "RUST_LIB_BACKTRACE" not in os.environ:
    os.environ["RUST_LIB_BACKTRACE"] = "0"

from .compiler import Compiler
from .matcher import Matcher

__all__ = ["Compiler", "Matcher"]
