"""The ways to pack weights that are tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vedette.errors import InputError
from vedette.models.gguf_facts import Facts


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to pack.

    `file_type` is llama.cpp's name of it. `packing` is the tensor type that most matrices get,
    `block` how many values of a row it packs together. `head` is the type of the embeddings and
    the output matrix, '' for that of the others. `begins_as` names one tried before whose file,
    if it is still there, is the same but for its finer head: the rest is then only copied.
    """

    file_type: str
    packing: str
    block: int
    head: str = ""
    begins_as: str = ""

    @property
    def name(self) -> str:
        """As reports and `--types` call it."""
        return f"{self.file_type}+{self.head}" if self.head else self.file_type

    def type_of(self, tensor: str) -> str:
        """About which type a matrix of this name gets; a mix has others besides."""
        is_head = tensor in ("token_embd.weight", "output.weight")
        return self.head if self.head and is_head else self.packing


# Those of which llama.cpp has fast kernels for some CPU, the finest first.
CANDIDATES = (
    Candidate("Q8_0", "Q8_0", 32),
    Candidate("Q4_K_M", "Q4_K", 256),
    Candidate("IQ4_NL", "IQ4_NL", 32, "Q8_0"),
    Candidate("Q4_0", "Q4_0", 32, "Q8_0"),
    Candidate("IQ4_NL", "IQ4_NL", 32, begins_as="IQ4_NL+Q8_0"),
    Candidate("Q4_0", "Q4_0", 32, begins_as="Q4_0+Q8_0"),
)


def fitting(candidates: Sequence[Candidate], facts: Facts) -> tuple[Candidate, ...]:
    """Those whose blocks the model's rows hold whole, but what the source is already."""
    width = facts.embedding_length or 0
    return tuple(
        one
        for one in candidates
        if width % one.block == 0 and not (one.file_type == facts.file_type and not one.head)
    )


def candidates_of(names: str) -> tuple[Candidate, ...]:
    """Those of a list like `IQ4_NL,Q8_0`, in the order of `CANDIDATES`.

    Raises `InputError` for an unknown one, or none.
    """
    known = {one.name.upper(): one for one in CANDIDATES}
    wanted = [name.strip().upper() for name in names.split(",") if name.strip()]
    unknown = next((name for name in wanted if name not in known), None)
    if unknown is not None or not wanted:
        raise InputError(
            f"{unknown or names!r} is no way to pack that is tried",
            hint=f"choose from {', '.join(one.name for one in CANDIDATES)}",
        )
    return tuple(known[name] for name in known if name in wanted)
