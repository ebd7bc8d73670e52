"""A task whose unsure answers a larger model gives."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakSet

from vedette.backends.base import Backend, Result
from vedette.backends.tiers import Tiers
from vedette.errors import Cancelled, CapabilityMissing, InputError, RequestError, VedetteError
from vedette.tasks.base import Ask, Steps
from vedette.types import Answer, Item, Json

from .accounts import GateAccounts
from .price import Price
from .subject import Subject, Verdict

SMALL, LARGE = 0, 1
AUDIT_SHARE = 0.02
_SAMPLE = Item(id="0", text="x")


@dataclass(frozen=True)
class Gate:
    """Implements `Task` and `Accountable`: the small model first, on a backend of two `Tiers`.

    Where it keeps an answer, that is the answer. The questions that it is not sure of are asked of
    the larger model, without calibrations, and that model's answers stand; if it fails, the row is
    an error, never the answer that was in doubt. An error of the small model is no doubt: it is
    the row's. `audit` is the share of rows of which the kept answers, too, are asked of the larger
    model, only to compare: the small one's stand. Which rows these are depends on their text alone,
    so that it is the same ones in each run. `price` is for the accounts.

    The answer's `extra`: `gate` has for each question what the small model said, how sure it was,
    whether that was kept, and what the larger one said, if asked; `large_usage` are the larger
    one's tokens, which `usage` has in it; `audit_failed` is the code of the error that kept a row
    from being audited. Raises `InputError` for a share that is none.
    """

    subject: Subject
    audit: float = AUDIT_SHARE
    price: Price | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.audit <= 1:
            raise InputError(f"the share of audited rows is {self.audit}; it must be from 0 to 1")

    @property
    def name(self) -> str:
        """The small model's task."""
        return self.subject.task.name

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        larger: dict[str, Json] = {**self.subject.larger(self._questions).identity}
        return {
            **self.subject.task.identity,
            "escalation": {"audit": self.audit, "larger": larger},
        }

    def accounts(self, backend: Backend) -> GateAccounts:
        """See `Accountable`."""
        tiers = _tiers(backend)
        names = (tiers.tier(SMALL).name, tiers.tier(LARGE).name)
        return GateAccounts(names, self.subject.calibrations, self.audit, self.price)

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        tiers = _tiers(backend)
        self._check_larger(tiers)
        answer = yield from self.subject.task.steps(item, tiers.tier(SMALL))
        verdicts = self.subject.verdicts(answer.value)
        unsure = tuple(name for name, one in verdicts.items() if not one.keep)
        asked = tuple(verdicts) if self._is_audited(item.text) else unsure
        if not asked:
            return self._told(answer, None, verdicts, tiers)
        large = tiers.tier(LARGE)
        try:
            more = yield from _on_tier(LARGE, self.subject.larger(asked).steps(item, large))
        except Cancelled:
            raise
        except (InputError, RequestError) as error:
            if unsure:
                raise _of_larger(error, large) from error
            told = self._told(answer, None, verdicts, tiers)
            return replace(told, extra={**told.extra, "audit_failed": error.code})
        return self._told(answer, more, verdicts, tiers)

    @property
    def _questions(self) -> tuple[str, ...]:
        return tuple(self.subject.calibrations.questions)

    @cached_property
    def _checked(self) -> WeakSet[Tiers]:
        """Backends whose larger tier is known to be able to do this."""
        return WeakSet()

    def _check_larger(self, tiers: Tiers) -> None:
        """Raises, before the small model is asked anything, what the larger one cannot do."""
        if tiers in self._checked:
            return
        large = tiers.tier(LARGE)
        steps = self.subject.larger(self._questions).steps(_SAMPLE, large)
        try:
            for ask in next(steps, ()):
                large.check(ask)
        except VedetteError as error:
            raise _of_larger(error, large) from error
        finally:
            steps.close()
        self._checked.add(tiers)

    def _is_audited(self, text: str) -> bool:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") < self.audit * 2**64

    def _told(
        self, small: Answer, large: Answer | None, verdicts: dict[str, Verdict], tiers: Tiers
    ) -> Answer:
        """The answer, with what the accounts need of it."""
        if not verdicts:
            return small
        unsure = [name for name, one in verdicts.items() if not one.keep]
        names = (tiers.tier(SMALL).name, tiers.tier(LARGE).name)
        value = self.subject.merged(small.value, large.value if large else None, unsure, names)
        said = self.subject.said(large.value) if large else {}
        gate: dict[str, Json] = {
            name: {
                "small": one.said,
                "confidence": one.confidence,
                "keep": one.keep,
                **({"large": said[name]} if name in said else {}),
            }
            for name, one in verdicts.items()
        }
        extra: dict[str, Json] = {**small.extra, "gate": gate}
        if large is None:
            return Answer(value=value, usage=small.usage, extra=extra)
        extra["large_usage"] = {
            "prompt_tokens": large.usage.prompt_tokens,
            "completion_tokens": large.usage.completion_tokens,
        }
        return Answer(value=value, usage=small.usage + large.usage, extra={**large.extra, **extra})


def _tiers(backend: Backend) -> Tiers:
    if not isinstance(backend, Tiers):
        raise CapabilityMissing("to escalate takes a backend of two tiers")
    return backend


def _on_tier(tier: int, steps: Steps) -> Generator[Sequence[Ask], Sequence[Result], Answer]:
    """The steps, each request marked with the tier that it is for."""
    try:
        asks = next(steps)
        while True:
            try:
                results = yield [replace(ask, tier=tier) for ask in asks]
            except VedetteError as error:
                asks = steps.throw(error)
            else:
                asks = steps.send(results)
    except StopIteration as end:
        return _answer(end)
    finally:
        steps.close()


def _answer(end: StopIteration) -> Answer:
    if not isinstance(end.value, Answer):
        raise TypeError("a task's steps end with an Answer")
    return end.value


def _of_larger(error: VedetteError, large: Backend) -> VedetteError:
    """The same error, saying whose it is."""
    return type(error)(f"the larger tier, {large.name}: {error.message}", hint=error.hint)
