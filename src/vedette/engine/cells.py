"""Who holds which cells of the KV cache: live sequences, and prefixes kept for the next ones."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from .llama.adapter import NO_ADAPTERS, Adapter, AdapterSet
from .llama.context import Context
from .prefix import Match, PrefixTree


@dataclass(slots=True)
class _Kept:
    n_tokens: int
    adapters: AdapterSet
    users: int = 0


@dataclass(frozen=True, slots=True)
class Start:
    """A sequence id, and how many of its leading tokens are in the cache already."""

    seq_id: int
    n_cached: int
    kept_source: int | None
    reserved_cells: int
    adapters: AdapterSet = NO_ADAPTERS


class Cells:
    """Hands out sequence ids and cells; shares prefixes; evicts the least recently used ones.

    Every live sequence reserves all the cells that it can come to need, so a step never finds
    the cache full. What is kept for reuse yields to live sequences and is never evicted while
    one of them stands on it. `idle_cells` bounds what is kept: every token attends over the
    whole occupied range, so idle cells have a price. What was computed under one set of adapters
    is never shared with a sequence under another.
    """

    def __init__(self, context: Context, *, idle_cells: int, sharing: bool = True) -> None:
        self._context = context
        self._sharing = sharing
        self._idle_limit = idle_cells
        self._free_ids = list(range(context.spec.n_seq - 1, -1, -1))
        self._tree = PrefixTree()
        self._kept: OrderedDict[int, _Kept] = OrderedDict()  # least recently used first
        self._reserved = 0

    @property
    def n_free_ids(self) -> int:
        """Sequence ids that are neither live nor kept."""
        return len(self._free_ids)

    @property
    def kept_cells(self) -> int:
        """Cells held for reuse."""
        return sum(kept.n_tokens for kept in self._kept.values())

    def start(
        self,
        tokens: list[int],
        n_total: int,
        spare_ids: int,
        adapters: AdapterSet = NO_ADAPTERS,
    ) -> Start | None:
        """A place for a sequence that may grow to `n_total` tokens; None while there is none.

        `tokens` are those that may come from the cache. `spare_ids` is how many ids must stay
        free for others.
        """
        match = self._match(tokens, adapters) if self._sharing else None
        if match:
            self._kept.move_to_end(match.owner)
            self._kept[match.owner].users += 1
        n_cached = match.n_tokens if match else 0
        if not self._make_room(n_total - n_cached, spare_ids + 1):
            if not match:
                return None
            # A short match may pin a long kept sequence: without it there may be room.
            self._kept[match.owner].users -= 1
            match, n_cached = None, 0
            if not self._make_room(n_total, spare_ids + 1):
                return None
        seq_id = self._free_ids.pop()
        self._reserved += n_total - n_cached
        if match:
            self._context.share(match.owner, seq_id, n_cached)
        source = match.owner if match else None
        return Start(seq_id, n_cached, source, n_total - n_cached, adapters)

    def _match(self, asked: list[int], adapters: AdapterSet) -> Match | None:
        if self._context.drops_suffix:
            return self._tree.longest(asked, adapters)
        match = self._tree.longest_whole(asked, adapters)
        if match and not self._context.holds(match.owner, match.n_tokens):
            return None
        return match

    def fork(self, seq_id: int, n_tokens: int) -> int | None:
        """A new id that starts with the first tokens of a live one, on its reservation."""
        if not self._free_ids and not self._evict_one():
            return None
        child = self._free_ids.pop()
        self._context.share(seq_id, child, n_tokens)
        return child

    def covers(self, tokens: list[int], adapters: AdapterSet = NO_ADAPTERS) -> bool:
        """Whether exactly these tokens are kept already."""
        match = self._tree.longest_whole(tokens, adapters)
        return match is not None and match.n_tokens == len(tokens) and match.owner in self._kept

    def keep(self, seq_id: int, tokens: list[int], adapters: AdapterSet = NO_ADAPTERS) -> None:
        """Keep a live sequence's tokens so far for the next ones; it goes on undisturbed."""
        if not self._sharing or self.covers(tokens, adapters):
            return
        if not self._make_room(len(tokens), 1):
            return
        kept_id = self._free_ids.pop()
        self._context.share(seq_id, kept_id, len(tokens))
        self._tree.insert(kept_id, tokens, adapters)
        self._kept[kept_id] = _Kept(len(tokens), adapters)
        self._trim()

    def finish(self, start: Start, keep: list[int] | None = None) -> None:
        """Let a live sequence's cells and reservation go, or keep its tokens under the same id."""
        self._reserved -= start.reserved_cells
        if start.kept_source is not None:
            self._kept[start.kept_source].users -= 1
        if keep and self._sharing and not self.covers(keep, start.adapters):
            self._tree.insert(start.seq_id, keep, start.adapters)
            self._kept[start.seq_id] = _Kept(len(keep), start.adapters)
            self._trim()
        else:
            self.release_id(start.seq_id)

    def forget(self, adapter: Adapter) -> None:
        """Let go of all that is kept of sequences under an adapter. None of them may be live."""
        for seq_id in [i for i, kept in self._kept.items() if kept.adapters.holds(adapter)]:
            self._evict(seq_id)

    def release_id(self, seq_id: int) -> None:
        """Drop the cells of an id and hand it back."""
        self._context.drop(seq_id)
        self._free_ids.append(seq_id)

    def _make_room(self, n_cells: int, n_ids: int) -> bool:
        def fits() -> bool:
            free = self._context.cells - self._reserved - self.kept_cells
            return free >= n_cells and len(self._free_ids) >= n_ids

        while not fits():
            if not self._evict_one():
                return False
        return True

    def _evict_one(self) -> bool:
        victim = next((seq_id for seq_id, kept in self._kept.items() if kept.users == 0), None)
        if victim is None:
            return False
        self._evict(victim)
        return True

    def _evict(self, seq_id: int) -> None:
        del self._kept[seq_id]
        self._tree.remove(seq_id)
        self.release_id(seq_id)

    def _trim(self) -> None:
        while self.kept_cells > self._idle_limit and len(self._kept) > 1:
            if not self._evict_one():
                return
