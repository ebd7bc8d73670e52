"""What one request has shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from vedette.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One answer of one variant.

    `seconds` is the time of writing `tokens` tokens, `wall_s` that of the whole request, reading
    the prompt included. `guessed` and `right` count tokens; `positions` the same for the first
    guess of a step, the second and so on, as (checked, right). `token_ids` are the answer's, where
    they are known. `verdict` is what the engine says of its guesses.
    """

    variant: str
    workload: str
    prompt: str
    seconds: float
    wall_s: float
    tokens: int
    steps: int
    guessed: int = 0
    right: int = 0
    positions: tuple[tuple[int, int], ...] = ()
    text: str = ""
    token_ids: tuple[int, ...] = ()
    verdict: str = ""

    def as_dict(self) -> dict[str, Json]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def of(cls, row: dict[str, Json]) -> Sample:
        """From what `as_dict` gave. Raises `TypeError` or `ValueError` for anything else."""
        values: dict[str, object] = dict(row)
        positions, ids = values.pop("positions", ()), values.pop("token_ids", ())
        if not isinstance(positions, list | tuple) or not isinstance(ids, list | tuple):
            raise TypeError("positions and token_ids are lists")
        return cls(
            **values,  # type: ignore[arg-type]
            positions=tuple((int(n), int(of)) for n, of in positions),
            token_ids=tuple(map(int, ids)),
        )
