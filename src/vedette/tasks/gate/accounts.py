"""The accounts of a job behind a gate: who answered, for how many tokens, and what that saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from vedette.tasks.calibrations import Calibrations
from vedette.types import Json

from .checks import QuestionChecks
from .price import Price


@dataclass(slots=True)
class Tokens:
    """Prompt and completion tokens, and of how many rows."""

    rows: int = 0
    prompt: float = 0
    completion: float = 0

    def add(self, prompt: float, completion: float) -> None:
        """Count a row's."""
        self.rows += 1
        self.prompt += prompt
        self.completion += completion

    def as_dict(self) -> dict[str, Json]:
        """For machines."""
        return {
            "rows": self.rows,
            "prompt_tokens": round(self.prompt),
            "completion_tokens": round(self.completion),
        }


class GateAccounts:
    """Implements `Accounts`. `names` are the models, small and large.

    Rows count as they are, tokens and audits once for each distinct row, as it was asked once.
    Error rows count as rows only: what they cost is not in the journal.
    """

    name = "escalation"

    def __init__(
        self, names: tuple[str, str], calibrations: Calibrations, audit: float, price: Price | None
    ) -> None:
        self.rows = self.kept = self.escalated = self.failed_audits = 0
        self.questions = {name: QuestionChecks(one) for name, one in calibrations.questions.items()}
        self._names = names
        self._audit = audit
        self._price = price
        self._small = Tokens()  # of all rows
        self._large = Tokens()  # of the rows that the large one was asked
        self._asked = self._not_asked = 0  # questions, of the large one
        self._prompt_of_asked = 0.0  # the small one's prompt tokens for the same questions

    def add(self, line: Mapping[str, Json], *, repeated: bool) -> None:
        """See `Accounts`. Rows without text, and rows without an answer, went nowhere."""
        self.rows += 1
        if "gate" not in line:
            return
        gate = cast(dict[str, dict[str, Json]], line["gate"])
        is_kept = all(told["keep"] for told in gate.values())
        self.kept += is_kept
        self.escalated += not is_kept
        for name, told in gate.items():
            self.questions[name].add(told, repeated=repeated)
        if not repeated:
            self.failed_audits += "audit_failed" in line
            n_asked = sum("large" in told for told in gate.values())
            self._asked += n_asked
            self._not_asked += len(gate) - n_asked
            self._add_tokens(line, n_asked / len(gate))

    def _add_tokens(self, line: Mapping[str, Json], share_asked: float) -> None:
        both = cast(dict[str, int], line["usage"])
        large = cast(dict[str, int], line.get("large_usage", {}))
        prompt, completion = (
            both[name] - large.get(name, 0) for name in ("prompt_tokens", "completion_tokens")
        )
        self._small.add(prompt, completion)
        self._prompt_of_asked += prompt * share_asked
        if large:
            self._large.add(large["prompt_tokens"], large["completion_tokens"])

    @property
    def saved(self) -> Tokens:
        """An estimate of what the large one would have taken for what it was not asked.

        Prompts are to the small one's as they are where both were asked, answers as long as the
        mean there. Where the large one was asked nothing, prompts are taken to be the small one's,
        and answers cannot be known. `rows` are those that are the small one's alone.
        """
        rows = self._small.rows - self._large.rows
        prompt = self._small.prompt - self._prompt_of_asked
        if not self._asked:
            return Tokens(rows, prompt, 0)
        ratio = self._large.prompt / max(1, self._prompt_of_asked)
        per_answer = self._large.completion / self._asked
        return Tokens(rows, prompt * ratio, self._not_asked * per_answer)

    def as_dict(self) -> dict[str, Json]:
        """See `Accounts`."""
        small, large, saved = self._small, self._large, self.saved
        money: dict[str, Json] | None = None
        if (price := self._price) is not None:
            money = {
                "price": [price.input, price.output],
                "spent": round(price.of(large.prompt, large.completion), 6),
                "saved_estimate": round(price.of(saved.prompt, saved.completion), 6),
            }
        return {
            "rows": self.rows,
            "kept": self.kept,
            "escalated": self.escalated,
            "share_escalated": round(self.escalated / max(1, self.kept + self.escalated), 4),
            "small": {"model": self._names[0], **small.as_dict()},
            "large": {"model": self._names[1], **large.as_dict()},
            "saved_estimate": saved.as_dict(),
            "money": money,
            "audit_share": self._audit,
            "audits_failed": self.failed_audits,
            "questions": {name: one.as_dict() for name, one in self.questions.items()},
        }

    def facts(self) -> list[tuple[str, str]]:
        """See `Accounts`."""
        small, large = self._names
        answered, saved = self.kept + self.escalated, self.saved
        told = [
            ("kept", f"{_part(self.kept, answered)} from {small}"),
            ("escalated", f"{_part(self.escalated, answered)} to {large}"),
            (f"tokens of {small}", _tokens(self._small)),
            (f"tokens of {large}", _tokens(self._large)),
            ("saved there, about", _tokens(saved)),
        ]
        if (price := self._price) is not None:
            spent = price.of(self._large.prompt, self._large.completion)
            less = price.of(saved.prompt, saved.completion)
            told.append(("money", f"{spent:,.4f} spent, about {less:,.4f} saved"))
        for name, one in self.questions.items():
            if one.n_audited:
                told.append(
                    ("audit" if len(self.questions) == 1 else f"audit of {name}", one.audit_fact())
                )
        return told

    def notes(self) -> list[str]:
        """See `Accounts`."""
        told = [
            note for name, one in self.questions.items() for note in one.notes(name, self._names[1])
        ]
        if self._large.rows and not self._large.prompt:
            told.append(f"{self._names[1]} does not tell how many tokens it took")
        if self.failed_audits:
            told.append(f"{self.failed_audits:,} kept answers could not be audited")
        return told


def _part(n: int, of: int) -> str:
    return f"{n:,} rows ({n / max(1, of):.1%})"


def _tokens(tokens: Tokens) -> str:
    return f"{tokens.prompt:,.0f} in, {tokens.completion:,.0f} out, {tokens.rows:,} rows"
