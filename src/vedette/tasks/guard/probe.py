"""A model's say without a question: a linear reading of what it expects after a text."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul

from vedette.errors import InputError

_LINE_CHARS = 96


@dataclass(frozen=True, slots=True)
class Probe:
    """The log odds that a policy applies to a text, linear in the text's embedding.

    They are `bias + scale * (weights . vector)`: a linear classifier probe (Alain and Bengio 2016,
    arXiv 1610.01644), on the output. `prompt` is what texts are embedded under. `packed` are the
    weights, one for each value of the model's embeddings, as `pack` writes them.
    """

    prompt: str
    bias: float
    scale: float
    packed: str

    def log_odds(self, vector: Sequence[float]) -> float:
        """Of a text with this embedding. Raises `InputError` if it has another length."""
        weights = unpack(self.packed)
        if len(weights) != len(vector):
            raise InputError(
                f"the probe has {len(weights):,} weights, and the model's embedding has "
                f"{len(vector):,} values",
                hint="fit the probe with this model: benchmarks/guard_probe.py",
            )
        along: float = sum(map(mul, weights, vector))
        return self.bias + self.scale * along


def pack(weights: Iterable[float]) -> str:
    """Little-endian float16 numbers in base64, in lines."""
    numbers = list(weights)
    code = base64.b64encode(struct.pack(f"<{len(numbers)}e", *numbers)).decode()
    return "\n".join(code[i : i + _LINE_CHARS] for i in range(0, len(code), _LINE_CHARS))


@lru_cache(maxsize=16)
def unpack(packed: str) -> tuple[float, ...]:
    """What `pack` was given, rounded. Raises `ValueError` with what is wrong."""
    try:
        data = base64.b64decode("".join(packed.split()), validate=True)
    except ValueError as error:  # letters that are not ASCII, too
        raise ValueError(f"are no base64: {error}") from error
    if not data or len(data) % 2:
        raise ValueError(f"are {len(data):,} bytes, which is no whole number of float16 values")
    numbers = struct.unpack(f"<{len(data) // 2}e", data)
    if not all(map(math.isfinite, numbers)):
        raise ValueError("have a value that is not finite")
    return numbers
