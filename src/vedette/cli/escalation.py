"""Options of the verbs whose unsure answers a larger model can give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.tasks.base import Task
    from vedette.tasks.gate import Gate


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EscalationOptions:
    """Where answers go that are not kept, and how that is watched."""

    escalate_to: str | None = None
    "With --thresholds: who is asked where the answer is not kept; an address as for --backend."
    audit: float | None = None
    "Share of rows whose kept answers are asked there too, to compare (0.02)."
    price: str | None = None
    "INPUT[,OUTPUT] for a million tokens there: the summary then tells money too."

    def gate(self, task: Task, *, has_thresholds: bool) -> Gate | None:
        """The task behind a gate, or None where nothing is escalated.

        Raises `InputError` for options that have no effect, or lack what they need.
        """
        from vedette.backends.address import parse_address
        from vedette.tasks.gate import AUDIT_SHARE, gate_of, parse_price

        if self.escalate_to is None:
            for name in ("audit", "price"):
                if getattr(self, name) is not None:
                    raise InputError(f"--{name} goes with --escalate-to")
            return None
        parse_address(self.escalate_to)
        if not has_thresholds:
            raise InputError(
                "--escalate-to needs --thresholds: which answers can be kept must be measured",
                hint="vedette calibrate finds the thresholds on labelled rows of yours",
            )
        return gate_of(
            task,
            audit=AUDIT_SHARE if self.audit is None else self.audit,
            price=parse_price(self.price) if self.price is not None else None,
        )
