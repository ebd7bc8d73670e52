"""What every route knows of its server."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.backends.base import Backend
from vedette.types import AdapterScales, Json

from .adapters import Personas, identity_of
from .desk import Desk
from .fields import LoraScale
from .metrics import Metrics
from .options import ServeOptions
from .pictures import Pictures
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
        self.pictures = Pictures(backend, fetch=options.fetch_pictures)
        self.personas = Personas(backend, self.model, options.personas, options.adapters_dir)

    @property
    def identity(self) -> dict[str, Json]:
        """See `identity_of`."""
        return identity_of(self.backend, self.options.personas)

    def check_model(self, asked: str) -> None:
        """Raises `Refusal` for a model that is not here."""
        if asked != self.model:
            raise Refusal(
                f"there is no model {asked!r} here, only {self.model!r}",
                status=404,
                code="model_not_found",
                param="model",
            )

    def adapters(self, asked: str, lora: Sequence[LoraScale] | None) -> AdapterScales:
        """Under which adapters the model that is asked for answers; see `Personas.scales`.

        Raises `Refusal` for a model that is not here.
        """
        if asked not in self.personas.models:
            self.check_model(asked)
        return self.personas.scales(asked, lora)

    def max_tokens(self, asked: int | None) -> int:
        """Most tokens of an answer; where none is asked for, at most half of the context."""
        if asked is not None:
            return asked
        return max(1, min(self.options.max_tokens, self.backend.capabilities.context_tokens // 2))
