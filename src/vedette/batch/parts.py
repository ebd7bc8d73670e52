"""What was answered about the parts of a long row, kept until the row has its own answer."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import Any

import orjson

from vedette.backends.around import Around, Known, Noted
from vedette.backends.base import Backend, Handle, Result
from vedette.types import (
    AnyRequest,
    Completion,
    EmbedRequest,
    Request,
    ScoreRequest,
    Scores,
    Usage,
)

from .journal import Journal
from .results import KEY_BYTES


class KeptParts(Around):
    """Asks another backend, and asks nothing twice that the journal knows.

    A request is known by all that stands in it. Results are written down when they are taken, on
    the thread that takes them, so one journal serves one driver. Only texts and scores are kept.
    """

    def __init__(self, backend: Backend, journal: Journal) -> None:
        super().__init__(backend)
        self._journal = journal
        self.n_known = 0
        """Requests that were answered by an earlier run."""

    def answered(self, request: AnyRequest) -> Handle[Result]:
        """See `Around`."""
        if isinstance(request, EmbedRequest):
            return super().answered(request)
        key = _key(request)
        if self._journal.is_old(key):
            self.n_known += 1
            return Known(_result(orjson.loads(self._journal.get(key))))

        def keep(result: Result) -> Result:
            if key not in self._journal:
                self._journal.add(key, _body(result))
            return result

        return Noted(super().answered(request), keep)


def _key(request: Request | ScoreRequest) -> bytes:
    kind = type(request).__name__
    seen = orjson.dumps([kind, asdict(request)], option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(seen, digest_size=KEY_BYTES).digest()


def _body(result: Result) -> bytes:
    if isinstance(result, Completion):
        told: dict[str, object] = {
            "text": result.text,
            "finish_reason": result.finish_reason,
            "cut": result.cut,
            "thought": result.thought,
        }
    elif isinstance(result, Scores):
        told = {"choices": result.choices, "logprobs": result.logprobs}
    else:
        raise TypeError(f"a {type(result).__name__} is not kept")
    return orjson.dumps({**told, "usage": asdict(result.usage)})


def _result(body: dict[str, Any]) -> Result:
    usage = Usage(**body.pop("usage"))
    if "choices" in body:
        return Scores(choices=tuple(body["choices"]), logprobs=tuple(body["logprobs"]), usage=usage)
    return Completion(**body, usage=usage)
