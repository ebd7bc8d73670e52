"""What every route knows of its server."""

from __future__ import annotations

from vedette.backends.base import Backend

from .desk import Desk
from .metrics import Metrics
from .options import ServeOptions
from .problems import Refusal


class Facts:
    """One server: its backend, the desk before it, the model's name, limits of an answer."""

    def __init__(self, backend: Backend, options: ServeOptions) -> None:
        self.backend = backend
        self.options = options
        self.model = options.model or backend.name
        self.metrics = Metrics(self.model, backend, options.max_requests)
        self.desk = Desk(backend, options.max_requests, watch=self.metrics.watch)
        self.metrics.answers_from(lambda: self.desk.n_under_way)
        self.deadline_s = options.deadline_s

    def check_model(self, asked: str) -> None:
        """Raises `Refusal` for a model that is not here."""
        if asked != self.model:
            raise Refusal(
                f"there is no model {asked!r} here, only {self.model!r}",
                status=404,
                code="model_not_found",
                param="model",
            )

    def max_tokens(self, asked: int | None) -> int:
        """Most tokens of an answer; where none is asked for, at most half of the context."""
        if asked is not None:
            return asked
        return max(1, min(self.options.max_tokens, self.backend.capabilities.context_tokens // 2))
