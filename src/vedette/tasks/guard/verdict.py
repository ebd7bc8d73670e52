"""From the pieces of a text, each with its evidence, to what a policy says of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vedette.types import Json

from .evidence import Hit, densest, heaviest, worth
from .policy import Policy, Weights

EXCERPT_CHARS = 200
SCORE_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch `[start, end)` of the text: the rules that match in it, the model's log odds."""

    start: int
    end: int
    hits: tuple[Hit, ...]
    log_odds: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The strongest piece of a text, under one policy."""

    policy: str
    score: float
    threshold: float
    piece: Piece
    by: str
    has_model: bool

    @property
    def flagged(self) -> bool:
        """Whether the score is over the threshold."""
        return self.score > self.threshold

    @property
    def span(self) -> tuple[int, int]:
        """The heaviest rule's match where rules speak, else the whole piece."""
        if self.by == "model":
            return self.piece.start, self.piece.end
        hit = heaviest(self.piece.hits)
        return hit.start, hit.end

    def as_dict(self, text: str) -> dict[str, Json]:
        """The value of a result line. Where nothing is flagged there is no place to point to."""
        body: dict[str, Json] = {
            "flagged": self.flagged,
            "score": self.score,
            "policy": self.policy,
            "span": None,
            "excerpt": None,
            "by": None,
        }
        if self.flagged:
            start, end = self.span
            excerpt = text[start : min(end, start + EXCERPT_CHARS)]
            body |= {"span": [start, end], "excerpt": excerpt, "by": self.by}
        rules: list[Json] = [*dict.fromkeys(hit.rule for hit in self.piece.hits)]
        odds: Json = round(self.piece.log_odds, 4) if self.has_model else None
        evidence: dict[str, Json] = {
            "rules": rules,
            "worth": round(worth(self.piece.hits), 4),
            "log_odds": odds,
        }
        return {**body, "evidence": evidence}


def score_of(piece: Piece, weights: Weights) -> float:
    """The score of one piece, as it is written: thresholds are compared with nothing else."""
    return round(weights.score(worth(piece.hits), piece.log_odds), SCORE_DIGITS)


def judge(policy: Policy, pieces: Sequence[Piece], weights: Weights) -> Verdict:
    """The verdict with what the model said: that of the strongest piece, the first of equals.

    No piece is left of a text that the policy allows all of.
    """
    if not pieces:
        return Verdict(policy.id, 0.0, weights.threshold, Piece(0, 0, ()), "model", has_model=True)
    piece = max(pieces, key=lambda one: score_of(one, weights))
    score = score_of(piece, weights)
    return Verdict(
        policy.id, score, weights.threshold, piece, _reason(piece, weights), has_model=True
    )


def rules_verdict(policy: Policy, hits: Sequence[Hit], weights: Weights, n_chars: int) -> Verdict:
    """The verdict of the rules alone, on the matches that are worth most together."""
    piece = Piece(0, n_chars, tuple(densest(hits)))
    by = f"rule:{heaviest(piece.hits).rule}" if piece.hits else "model"
    return Verdict(
        policy.id, score_of(piece, weights), weights.threshold, piece, by, has_model=False
    )


def unread() -> dict[str, Json]:
    """The value for a row without text."""
    none: dict[str, Json] = dict.fromkeys(("policy", "span", "excerpt", "by"))
    return {"flagged": False, "score": 0.0, **none}


def _reason(piece: Piece, weights: Weights) -> str:
    """Who is enough to flag it: a rule, the model, or both (each alone, or only together)."""
    if not piece.hits:
        return "model"
    by_rules = weights.score(worth(piece.hits), 0.0) > weights.threshold
    by_model = weights.score(0.0, piece.log_odds) > weights.threshold
    if by_rules and not by_model:
        return f"rule:{heaviest(piece.hits).rule}"
    return "model" if by_model and not by_rules else "both"
