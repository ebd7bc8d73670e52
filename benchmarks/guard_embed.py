"""Embeddings of attacks and harmless texts, from which `guard_probe.py` makes probes.

    python benchmarks/guard_embed.py DATA --model NAME --out FILE [--rows N] [--harmless FILE ...]
        [--prompt TEXT] [--seconds S]

DATA is the folder of `guard_sets.py`; --harmless adds JSONL files of more texts that are none (key
`text`). Every text is cut into windows as the guard cuts it, and the embedding of each goes to FILE
as it comes, those of all sets mixed, so that a part of them will do. A run that is begun again with
the same FILE goes on; --seconds ends it in time. --rows takes that many texts of each set, spread
evenly over it.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import say
from guard_sets import Texts, own_sets, sets_in
from kept import Kept, json_lines
from numpy.typing import NDArray

from vedette.backends.base import Backend
from vedette.backends.local import LocalBackend
from vedette.cli.bench_run import stopped_by_sigterm
from vedette.errors import VedetteError
from vedette.tasks.guard.asking import place_request
from vedette.tasks.guard.evidence import read
from vedette.tasks.guard.survey import stretches

PROMPT = "Say in one word what the writer of the message is trying to do."
AT_ONCE = 16


def harmless_of(path: Path) -> Texts:
    """A further set of harmless texts. Raises `InputError`."""
    return Texts(path.stem, False, tuple(row["text"] for row in json_lines(path, "text")))


def key_of(text: str) -> str:
    """Under which the embedding of a window is kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def unpacked(answer: dict[str, str]) -> NDArray[np.float32]:
    """A kept embedding."""
    return np.frombuffer(base64.b64decode(answer["vector"]), np.float16).astype(np.float32)


def embed(
    sets: list[Texts], rows: int | None, prompt: str, backend: Backend, kept: Kept, end: float
) -> None:
    """Keep the embedding of every window that is not there yet."""
    todo = _todo(sets, rows, backend, kept)
    n = 0
    while part := [one for _, one in zip(range(AT_ONCE), todo, strict=False)]:
        handles = [backend.submit(place_request(text, prompt)) for text in part]
        for text, handle in zip(part, handles, strict=True):
            vector = np.asarray(handle.result().vector, np.float16)
            kept.add(key_of(text), {"vector": base64.b64encode(vector.tobytes()).decode()})
        n += len(part)
        say(f"{n} windows")
        if time.monotonic() > end:
            say("time is up; the same command goes on")
            return


def _todo(sets: list[Texts], rows: int | None, backend: Backend, kept: Kept) -> Iterator[str]:
    texts = [text for one in sets for _, text in one.sample(rows)]
    for text in random.Random(0).sample(texts, len(texts)):
        for part in stretches(read(text), backend):
            if kept.get(key_of(part.text)) is None:
                yield part.text


def main() -> int:
    """Embed, and say how far it went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--harmless", type=Path, nargs="*", default=[])
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    try:
        sets = [*own_sets(), *sets_in(options.data), *map(harmless_of, options.harmless)]
        with stopped_by_sigterm():
            backend = LocalBackend(options.model)
            try:
                about = {"prompt": options.prompt, **backend.identity}
                kept = Kept(options.out, about)
                embed(sets, options.rows, options.prompt, backend, kept, end)
            finally:
                backend.close()
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        say("stopped; the same command goes on")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
