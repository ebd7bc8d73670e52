"""Which of the sentences that a model writes are passed on, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from vedette.tasks.compress.split import units
from vedette.tasks.compress.words import words
from vedette.tasks.grounding import Grounding

_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_MARKS = re.compile(r"^(?:[-*•·]|\(?\d{1,2}[.)、])\s+|^#{1,6}\s+|\*\*|__")
_END = re.compile(r"[.!?。！？…][\"'’”)\]」』）》]*$")
_SAME = 0.8  # the share of common words from which two sentences say the same


def n_words(text: str) -> int:
    """Words between spaces; a character of Chinese, Japanese or Thai counts as one."""
    return sum(map(_n_in, text.split()))


def _n_in(word: str) -> int:
    unspaced = _UNSPACED.findall(word)
    if not unspaced:
        return 1
    others = _UNSPACED.sub(" ", word).split()
    return len(unspaced) + sum(any(map(str.isalnum, other)) for other in others)


@dataclass(slots=True)
class Keeper:
    """Takes sentences as they come and keeps those that may stand.

    A sentence is left out that has a fault (see `Grounding.fault`), that says again what was said,
    or with which the text would come over `most` by `count`. What was kept stays kept, so what it
    says of a beginning holds for the whole.
    """

    grounding: Grounding
    most: int
    count: Callable[[str], int]
    kept: list[str] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    n_repeated: int = 0
    n_over: int = 0
    _bags: list[frozenset[str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What was kept."""
        return joined(self.kept)

    def take(self, sentence: str) -> bool:
        """Whether the sentence is kept."""
        bag = frozenset(words(sentence))
        if fault := self.grounding.fault(sentence):
            self.faults.append((sentence, fault))
            return False
        if any(len(bag & other) >= _SAME * len(bag | other) for other in self._bags):
            self.n_repeated += 1
            return False
        if self.count(joined([*self.kept, sentence])) > self.most:
            self.n_over += 1
            return False
        self.kept.append(sentence)
        self._bags.append(bag)
        return True


def written_sentences(text: str, *, is_whole: bool) -> Iterator[str]:
    """The sentences of an answer, without marks of lists and headings, and introductions.

    While an answer is still being written (not `is_whole`), the last one is not given out: it may
    go on. Of an answer that was cut, a last one without an end is none.
    """
    found = list(units(text))
    for i, unit in enumerate(found):
        said = " ".join(_MARKS.sub("", text[unit.start : unit.end]).split())
        is_last = i == len(found) - 1
        if (is_last and not is_whole) or unit.kind in ("heading", "code", "row"):
            continue
        if said.endswith((":", "：")) or not any(map(str.isalpha, said)):
            continue
        yield said


def has_end(sentence: str) -> bool:
    """Whether a sentence is finished."""
    return bool(_END.search(sentence))


def joined(sentences: list[str]) -> str:
    """Sentences as a text: with spaces between them, but none after a Chinese full stop."""
    text = ""
    for one in sentences:
        text += f"{'' if not text or text[-1] in '。！？' else ' '}{one}"
    return text
