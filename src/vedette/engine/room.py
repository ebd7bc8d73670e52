"""The context and who holds its cells; small at first, larger when a request needs it."""

from __future__ import annotations

from vedette.errors import EngineFailed

from .cells import Cells
from .llama.adapter import NO_ADAPTERS, Adapter
from .llama.context import Context, ContextSpec
from .llama.model import Model
from .options import EngineOptions


def spec_of(options: EngineOptions, cells: int) -> ContextSpec:
    """What a context of so many cells is to be."""
    return ContextSpec(
        cells=cells,
        n_seq=options.n_seq,
        batch_tokens=options.batch_tokens,
        n_outputs=options.n_outputs,
        threads=options.threads,
        kv_type=options.kv_type,
    )


class Room:
    """A context of at most `max_cells`. Raises `EngineFailed` when llama.cpp cannot make it."""

    def __init__(self, model: Model, options: EngineOptions, max_cells: int) -> None:
        self._model = model
        self._options = options
        self._max_cells = max_cells
        self._open(min(options.cells, max_cells))

    def _open(self, n_cells: int) -> None:
        self.context = Context(self._model, spec_of(self._options, n_cells))
        sharing = self._options.share_prefixes
        # One at a time, an answer then does not depend on what was asked before it.
        undeclared = self._options.width > 1
        self.cells = Cells(
            self.context, idle_cells=n_cells // 4, sharing=sharing, undeclared=undeclared
        )

    def forget(self, adapter: Adapter) -> None:
        """Apply an adapter no more, and let go of what was computed under it."""
        if self.context.adapters.holds(adapter):
            self.context.adapt(NO_ADAPTERS)
        self.cells.forget(adapter)

    def grow(self, n_cells: int) -> None:
        """Make room for so many; the kept prefixes go with the old context.

        Nothing may be live. Raises `EngineFailed` where llama.cpp cannot: the old size is back.
        """
        old = self.context.cells
        self.context.close()
        failure: EngineFailed | None = None
        for size in (min(self._max_cells, max(n_cells, 2 * old)), n_cells):
            try:
                self._open(size)
                return
            except EngineFailed as error:
                failure = error
        self._open(old)
        assert failure is not None
        raise failure
