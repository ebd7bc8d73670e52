"""The in-process engine as a backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import overload

from vedette.backends.base import Handle, Result, check_tier
from vedette.backends.personas import Persona
from vedette.config import Settings
from vedette.engine.core import EngineCore
from vedette.engine.curve import CostCurve
from vedette.engine.options import EngineOptions
from vedette.engine.stats import EngineStats
from vedette.errors import ModelNotFound
from vedette.models import tuned
from vedette.models.adapter_file import AdapterFile
from vedette.models.context_limit import recall
from vedette.models.fingerprint import file_sha256
from vedette.models.locate import locate
from vedette.models.progress import Progress
from vedette.models.projector_place import projector_for
from vedette.models.pull import pull
from vedette.types import (
    AnyRequest,
    Capabilities,
    Completion,
    Embedding,
    EmbedRequest,
    Json,
    Request,
    ScoreRequest,
    Scores,
)


def options_of(settings: Settings) -> EngineOptions:
    """The engine options that the settings ask for; the draft must be here."""
    return EngineOptions(
        width=settings.width,
        threads=settings.thread_count,
        max_context_tokens=settings.context_tokens,
        batch_tokens=settings.batch_tokens,
        kv_type=settings.kv_type,
        max_queue=settings.max_queue,
        speculate=settings.speculate,
        draft=locate(settings.draft).path if settings.draft else None,
    )


def options_for(settings: Settings, progress: Progress | None = None) -> EngineOptions:
    """As `options_of`, with the projector of the model, which must be here; what is taken is said.

    Raises as `projector_for` does.
    """
    path = projector_for(settings.mmproj, locate(settings.model).path, progress)
    return replace(options_of(settings), mmproj=path)


def _with_curve(options: EngineOptions, tuning: tuned.Tuning | None) -> EngineOptions:
    """The options with the steps that `tune` timed, if it timed them as this engine takes them."""
    is_same = tuning is not None and (tuning.threads, tuning.kv_type) == (
        options.threads,
        options.kv_type,
    )
    if tuning is None or not is_same or options.curve is not None:
        return options
    return replace(options, curve=CostCurve(tuning.tokens))


def fetch(settings: Settings, progress: Progress | None = None) -> None:
    """Get the configured models unless they are here; with `offline` only look whether they are.

    Raises what `pull` and `locate` raise.
    """
    for model in filter(None, (settings.model, settings.draft)):
        if settings.offline:
            locate(model)
        else:
            pull(model, progress=progress)


class LocalBackend:
    """Implements `Backend` on a GGUF of this machine.

    `model` is a registry name, `hf:user/repo:QUANT` or a path; it must be here already. With
    `use_tuned`, a copy that `vedette tune` made of it for this machine answers in its place; that
    is another model, and `identity` says so. `tuning` is what was found for the weights, copy or
    not. Raises `ModelNotFound` with the command that fetches it, `ModelCorrupt` for an unreadable
    file.
    """

    def __init__(
        self,
        model: str | Path,
        options: EngineOptions | None = None,
        *,
        use_tuned: bool = False,
    ) -> None:
        weights = locate(str(model))
        self._name = weights.name
        self.path = weights.path
        self.sha256 = weights.sha256 or file_sha256(weights.path)
        self.source_sha256 = self.sha256
        self.tuning = tuned.find(self.sha256) if use_tuned else None
        if self.tuning is not None and self.tuning.copy is not None:
            self.path = tuned.checked_path(self.tuning)
            self.sha256 = self.tuning.copy.sha256
            self._name = f"{weights.name}, tuned ({self.tuning.copy.type})"
        # A copy is close enough to its source for how much text is of use.
        limit = recall(self.sha256) or recall(self.source_sha256)
        self._useful_tokens = limit.limit_tokens if limit else None
        self.engine = EngineCore(self.path, _with_curve(options or EngineOptions(), self.tuning))

    @property
    def capabilities(self) -> Capabilities:
        """Completes, constrains, scores, copies, embeds, adapts; sees, where it has a projector."""
        return Capabilities(
            can_constrain=True,
            can_score=True,
            can_copy=True,
            can_embed=True,
            can_adapt=True,
            can_see=self.engine.sees,
            context_tokens=self.engine.max_context_tokens,
            useful_tokens=self._useful_tokens,
        )

    @property
    def identity(self) -> dict[str, Json]:
        """The file's hash and what changes its numbers: the cache's type.

        A tuned copy has the hash of its own file, and says what it was made from.
        """
        found: dict[str, Json] = {
            "model_sha256": self.sha256,
            "kv_type": self.engine.options.kv_type,
        }
        if self.is_tuned:
            found["tuned_from"] = self.source_sha256
        return found

    @property
    def is_tuned(self) -> bool:
        """Whether a tuned copy answers."""
        return self.sha256 != self.source_sha256

    @property
    def name(self) -> str:
        """The model as it was asked for; a tuned copy is told."""
        return self._name

    @property
    def width(self) -> int:
        """Requests worth having under way: the batch, and a few to fill the next free place."""
        return self.engine.options.width + max(2, self.engine.options.width // 4)

    @property
    def stats(self) -> EngineStats:
        """The engine's running totals."""
        return self.engine.stats

    @property
    def adapters(self) -> Mapping[str, AdapterFile]:
        """The adapters that requests may name."""
        return self.engine.adapters

    def add_adapter(self, name: str, path: Path) -> AdapterFile:
        """Load a LoRA adapter, applied to nothing until a request names it.

        Requests may be under way. Raises `InputError` for a name that is taken or not one,
        `AdapterRefused` for a file that does not go with the model, `ModelNotFound`, `FileError`
        and `ModelCorrupt` for one that is not there or no sound GGUF.
        """
        if not path.is_file():
            raise ModelNotFound(f"there is no adapter file {path}")
        return self.engine.add_adapter(name, path)

    def add_personas(self, personas: Iterable[Persona]) -> None:
        """Load several; raises as `add_adapter` does."""
        for persona in personas:
            self.add_adapter(persona.name, persona.path)

    def remove_adapter(self, name: str) -> int:
        """Take an adapter away; how many requests under way still have it to their end.

        Raises `InputError` for one that is not there.
        """
        return self.engine.remove_adapter(name)

    @overload
    def submit(self, request: Request) -> Handle[Completion]: ...
    @overload
    def submit(self, request: ScoreRequest) -> Handle[Scores]: ...
    @overload
    def submit(self, request: EmbedRequest) -> Handle[Embedding]: ...
    def submit(self, request: AnyRequest) -> Handle[Result]:
        """Queue a request; see `Backend.submit`."""
        check_tier(request)
        return self.engine.submit(request)

    def check(self, request: AnyRequest) -> None:
        """Find out whether a request could ever be met. Raises `InputError` if not."""
        self.engine.check(request)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return self.engine.count_tokens(text)

    def show_prompt(self, request: AnyRequest) -> str:
        """The request's prompt as the model reads it, control tokens spelt out."""
        return self.engine.tokenizer.render(request.prompt)

    @property
    def counts(self) -> Mapping[str, int]:
        """Tokens that were guessed, and those of them that were right."""
        stats = self.engine.stats
        return {"guessed_tokens": stats.guessed, "right_guesses": stats.guesses_right}

    def close(self) -> None:
        """End the engine and free the model."""
        self.engine.close()
