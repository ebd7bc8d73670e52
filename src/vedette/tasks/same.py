"""Two records: the same thing? Yes and no are scored, nothing is generated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from vedette.backends.base import Backend
from vedette.decide.closed import decide, mean_prior
from vedette.errors import CapabilityMissing
from vedette.types import Answer, Item, Json, Message, Prompt, ScoreRequest, Usage

from .base import Steps
from .prompt_data import fill, text_of, with_instructions
from .reply import check_room, scores_of

YES_NO = ("yes", "no")
OTHER = "other"
LEAST_FOR_PRIOR = 16


@dataclass(frozen=True)
class Same:
    """Implements `Task`: what yes and no score for a pair of records.

    The item's text is the one record, its column `other` the second. `what` is what a record
    describes, such as `product`. The value is `[[yes, no], ...]`, log-probabilities, once as given
    and once with the records exchanged, since a small model's answer depends on their order;
    `probabilities` makes one number of them.
    """

    what: str = "thing"
    instructions: str = ""
    name: str = field(default="same", init=False)

    @cached_property
    def _system(self) -> str:
        return with_instructions(
            fill(text_of("dedupe", "system"), what=self.what), self.instructions
        )

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {"prompt": [self._system, text_of("dedupe", "user")], "what": self.what}

    def request(self, first: str, second: str) -> ScoreRequest:
        """The question for two records."""
        user = fill(text_of("dedupe", "user"), first=first, second=second, what=self.what)
        prompt = Prompt((Message("system", self._system), Message("user", user)), shared_messages=1)
        return ScoreRequest(prompt=prompt, choices=YES_NO)

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_score:
            raise CapabilityMissing("comparing records needs a backend that can score choices")
        other = cast(str, item.columns[OTHER])
        asks = [self.request(item.text, other), self.request(other, item.text)]
        check_room(asks[0].prompt, 1, backend)
        scores = [scores_of(result) for result in (yield asks)]
        usage = sum((one.usage for one in scores), Usage())
        return Answer(value=[[*one.logprobs] for one in scores], usage=usage)


def probabilities(values: Sequence[Json]) -> list[float]:
    """The probability of 'the same' for each pair, from the values of `Same`.

    What the model says on the mean over all pairs is divided out (batch calibration, Zhou et al.
    2023, arXiv 2309.17249), from `LEAST_FOR_PRIOR` pairs on.
    """
    pairs = [cast(list[list[float]], value) for value in values]
    rows = [row for pair in pairs for row in pair]
    prior = mean_prior(rows) if len(pairs) >= LEAST_FOR_PRIOR else None
    decided = [[decide(YES_NO, row, prior).probabilities[0] for row in pair] for pair in pairs]
    return [sum(each) / len(each) for each in decided]
