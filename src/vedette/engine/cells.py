"""Who holds which cells of the KV cache: live sequences, and prefixes kept for the next ones."""

from __future__ import annotations

from collections import OrderedDict

from .holder import Holder, Start
from .idle import IdleLimit
from .llama.adapter import NO_ADAPTERS, Adapter, AdapterSet
from .llama.context import Context
from .past import Past
from .prefix import Match, PrefixTree

WORTH_TOKENS = 32
"""A beginning that nobody has declared to be shared is worth an id from so many tokens on."""


class Cells:
    """Hands out sequence ids and cells; shares prefixes; evicts the least recently used ones.

    Every live sequence reserves all the cells that it can come to need, so a step never finds
    the cache full. What is kept for reuse yields to live sequences and is never evicted while
    one of them stands on it. `idle_cells` bounds what is kept: every token attends over the
    whole occupied range, so idle cells have a price. What was computed under one set of adapters
    is never shared with a sequence under another.

    Kept are what callers declare to be shared (`keep`) and turns of chats (`finish`). Where the
    memory can be cut anywhere, and unless `undeclared` is false, a sequence may also begin with
    what a live one has `read`, and a prompt that ends is kept up to where another one is known to
    part from it. So where prompts have nothing more in common, nothing more is kept.
    """

    def __init__(
        self, context: Context, *, idle_cells: int, sharing: bool = True, undeclared: bool = True
    ) -> None:
        self._context = context
        self._sharing = sharing
        self._undeclared = undeclared
        self._idle_limit = idle_cells
        self._chat_limit = IdleLimit(idle_cells)
        self._free_ids = list(range(context.spec.n_seq - 1, -1, -1))
        self._tree = PrefixTree()
        self._past = Past()
        self._kept: OrderedDict[int, Holder] = OrderedDict()  # least recently used first
        self._live: dict[int, Holder] = {}

    @property
    def shares(self) -> bool:
        """Whether anything is shared at all."""
        return self._sharing

    @property
    def shares_live(self) -> bool:
        """Whether a sequence can begin with what a live one has read."""
        return self._sharing and self._undeclared and self._context.drops_suffix

    @property
    def n_free_ids(self) -> int:
        """Sequence ids that are neither live nor kept."""
        return len(self._free_ids)

    @property
    def kept_cells(self) -> int:
        """Cells held for reuse."""
        return sum(kept.n_own for kept in self._kept.values())

    @property
    def reserved_cells(self) -> int:
        """Cells that live sequences hold or may come to need, besides those of their sources."""
        return sum(live.n_own for live in self._live.values())

    def n_known(self, tokens: list[int], adapters: AdapterSet = NO_ADAPTERS) -> int:
        """How many of these leading tokens a sequence would not have to compute."""
        match = self._match(tokens, adapters)
        return match.n_tokens if match else 0

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
        match = self._match(tokens, adapters)
        if match:
            self._touch(match.owner)
            self._holder(match.owner).users += 1
        n_cached = match.n_tokens if match else 0
        if not self._make_room(n_total - n_cached, spare_ids + 1):
            if not match:
                return None
            # A short match may pin a long kept sequence: without it there may be room.
            self._holder(match.owner).users -= 1
            match, n_cached = None, 0
            if not self._make_room(n_total, spare_ids + 1):
                return None
        seq_id = self._free_ids.pop()
        source_id = match.owner if match else None
        own = Holder(n_total, n_cached, source_id, adapters=adapters)
        self._live[seq_id] = own
        if match:
            source = self._holder(match.owner)
            source.n_common = max(source.n_common, n_cached)
            if source.n_prompt and n_cached >= source.n_prompt:
                source.n_prompt = 0  # not kept in vain
                self._chat_limit.gone_on()
            self._context.share(match.owner, seq_id, n_cached)
        if self.shares_live:
            past = self._past.common(tokens, adapters)
            own.n_common = past.n_tokens if past.n_tokens - n_cached >= WORTH_TOKENS else 0
            if past.goes_on and own.n_common:
                self._chat_limit.gone_on()
        self._trim()
        return Start(seq_id, n_cached)

    def _match(self, asked: list[int], adapters: AdapterSet) -> Match | None:
        if not self._sharing:
            return None
        if self._context.drops_suffix:
            match = self._tree.longest(asked, adapters)
            return self._footing(match) if match else None
        match = self._tree.longest_whole(asked, adapters)
        if match and not self._context.holds(match.owner, match.n_tokens):
            return None
        return match

    def _footing(self, match: Match) -> Match | None:
        """In whose own cells a match ends.

        So no id is held for what another one holds as well, or for a few tokens more.
        """
        owner: int | None = match.owner
        n_tokens = match.n_tokens
        while owner is not None:
            holder = self._holder(owner)
            is_declared = holder.source is None and owner in self._kept
            if n_tokens - holder.base >= (1 if is_declared else WORTH_TOKENS):
                return Match(owner, n_tokens)
            owner, n_tokens = holder.source, min(n_tokens, holder.base)
        return None

    def _holder(self, seq_id: int) -> Holder:
        return self._kept.get(seq_id) or self._live[seq_id]

    def _touch(self, owner: int | None) -> None:
        """Make it the most recently used, and what it stands on even more so."""
        while owner is not None:
            if owner in self._kept:
                self._kept.move_to_end(owner)
            owner = self._holder(owner).source

    def fork(self, seq_id: int, n_tokens: int) -> int | None:
        """A new id that starts with the first tokens of a live one, on its reservation."""
        if not self._free_ids and not self._evict_one():
            return None
        child = self._free_ids.pop()
        self._context.share(seq_id, child, n_tokens)
        return child

    def covers(self, tokens: list[int], adapters: AdapterSet = NO_ADAPTERS) -> bool:
        """Whether exactly these tokens are kept already."""
        return any(owner in self._kept for owner in self._tree.holders_of(tokens, adapters))

    def read(self, seq_id: int, tokens: list[int]) -> None:
        """Offer others the leading tokens of a live sequence, which are in the cache."""
        own = self._live[seq_id]
        if self.shares_live and len(tokens) - own.base >= WORTH_TOKENS:
            self._tree.insert(seq_id, tokens, own.adapters)

    def keep(self, seq_id: int, tokens: list[int], spare_ids: int) -> None:
        """Keep a live sequence's tokens so far for the next ones; it goes on undisturbed."""
        live = self._live[seq_id]
        if not self._sharing or self.covers(tokens, live.adapters):
            return
        if not self._make_room(len(tokens), spare_ids + 1):
            return
        kept_id = self._free_ids.pop()
        self._context.share(seq_id, kept_id, len(tokens))
        self._tree.insert(kept_id, tokens, live.adapters)
        self._kept[kept_id] = Holder(len(tokens), adapters=live.adapters)
        if self.shares_live:
            # From now on it stands on what is kept, as all that come after it.
            self._leave(live)
            live.source, live.base = kept_id, len(tokens)
            self._kept[kept_id].users += 1
        self._trim()

    def finish(self, start: Start, keep: list[int] | None = None) -> None:
        """Let a live sequence's cells and reservation go, or keep its tokens under the same id.

        Without `keep` its prompt stays as far as others begin with it.
        """
        seq_id = start.seq_id
        own = self._live.pop(seq_id)
        offered = self._tree.tokens_of(seq_id)
        if not self.shares_live:
            self._leave(own)
        if keep and self._sharing and not self.covers(keep, own.adapters):
            kept = keep
            own.n_prompt = len(offered)
        elif own.users or own.n_common - own.base >= WORTH_TOKENS:
            kept = offered[: own.n_common]
        else:
            kept = []
        if offered and len(kept) < len(offered):
            self._past.add(offered, own.adapters)
        if kept:
            self._retain(seq_id, own, kept)
            return
        if offered:
            self._tree.remove(seq_id)
        self._leave(own)
        self.release_id(seq_id)

    def _retain(self, seq_id: int, own: Holder, tokens: list[int]) -> None:
        own.n_tokens = len(tokens)
        own.base = min(own.base, own.n_tokens)
        self._tree.insert(seq_id, tokens, own.adapters)
        if self.shares_live:
            self._context.truncate(seq_id, own.n_tokens)
        self._kept[seq_id] = own
        self._absorb(own)

    def _absorb(self, own: Holder) -> None:
        """Take over the link of a chain on which only this one stands, as a whole.

        A growing thread would else hold an id for each of its lengths. The first link stays: it
        is what has been declared to be shared.
        """
        link = self._kept.get(own.source) if own.source is not None else None
        if link is None or link.source is None or link.users > 1 or link.n_tokens > own.base:
            return
        assert own.source is not None
        taken, own.source, own.base = own.source, link.source, link.base
        del self._kept[taken]
        self._tree.remove(taken)
        self.release_id(taken)

    def _leave(self, own: Holder) -> None:
        """Stand on its source no longer."""
        if own.source is not None:
            self._holder(own.source).users -= 1
        own.source, own.base = None, 0

    def forget(self, adapter: Adapter) -> None:
        """Let go of all that is kept of sequences under an adapter. None of them may be live."""
        going = {i: kept for i, kept in self._kept.items() if kept.adapters.holds(adapter)}
        while going:  # what stands on others goes before them
            seq_id = next(i for i, kept in going.items() if kept.users == 0)
            del going[seq_id]
            self._evict(seq_id)

    def release_id(self, seq_id: int) -> None:
        """Drop the cells of an id and hand it back."""
        self._context.drop(seq_id)
        self._free_ids.append(seq_id)

    def _make_room(self, n_cells: int, n_ids: int) -> bool:
        def fits() -> bool:
            free = self._context.cells - self.reserved_cells - self.kept_cells
            return free >= n_cells and len(self._free_ids) >= n_ids

        while not fits():
            if not self._evict_one():
                return False
        return True

    def _evict_one(self, *, chats_only: bool = False) -> bool:
        idle = (i for i, kept in self._kept.items() if not kept.users)
        victim = next((i for i in idle if self._kept[i].n_prompt or not chats_only), None)
        if victim is None:
            return False
        self._evict(victim)
        return True

    def _evict(self, seq_id: int) -> None:
        going = self._kept.pop(seq_id)
        if going.n_prompt:
            self._chat_limit.in_vain()
            self._past.add(self._tree.tokens_of(seq_id), going.adapters, going.n_prompt)
        self._leave(going)
        self._tree.remove(seq_id)
        self.release_id(seq_id)

    def _trim(self) -> None:
        while self.kept_cells > self._idle_limit and len(self._kept) > 1:
            if not self._evict_one():
                return
        while self._chat_cells > self._chat_limit.cells and len(self._kept) > 1:
            if not self._evict_one(chats_only=True):
                return

    @property
    def _chat_cells(self) -> int:
        return sum(kept.n_own for kept in self._kept.values() if kept.n_prompt)
