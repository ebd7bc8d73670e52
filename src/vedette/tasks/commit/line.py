"""One line that the model writes: bounded, without a full stop, with no names of its own making."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from vedette.backends.base import Result
from vedette.tasks.base import Ask
from vedette.tasks.prompt_data import load_prompt
from vedette.tasks.reply import completion_of
from vedette.types import Completion, Constraint, Prompt, Request, Usage

from .language import Language, languages
from .names import KnownNames

MAX_TRIES = 3
LEAST_CHARS = 8
_SLACK = 1.5  # how much longer than its bound a line may become, before it is shortened

# Classes of characters are small ranges: those of Unicode cost the compiler more than it may spend.
_CONTROL = r"\x00-\x1f\x7f"
_NO_LETTER = r"\x20-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e"

_OF_NAMES = r"#$@%&()*.\/0-9<>=\[\]\\^_`{|}~"
_ECHO_CHARS = 14
_MAX_EXCLUDED, _EXCLUDED_CHARS = 2, 12

# Where a line that is too long can end: what follows is a detail of what stands before.
_CLAUSE = re.compile(
    r"[,;:，；、：]|(?= (?:and|or|by|so|which|that|to|for|with|in|on|when|where|while|using|from|"
    r"as|if|because|including|such|instead|via|through|into|based)\b)| \("
)
_HANGING = re.compile(
    r"[\s,;:，；、：(-]+$|\s(?:and|or|by|so|to|for|with|in|on|a|an|the|of|from|as|at|is|are|that)$"
)


@dataclass(frozen=True, slots=True)
class LineAsk:
    """A line to be written: its prompt and the most characters that it may have."""

    prompt: Prompt
    max_chars: int


@dataclass(frozen=True, slots=True)
class Line:
    """What came of it. `text` is None where every try had invented names; `changes` say so."""

    text: str | None
    changes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Draft:
    ask: LineAsk
    language: Language
    excluded: list[str] = field(default_factory=list)
    tries: int = 0
    text: str | None = None
    changes: list[str] = field(default_factory=list)

    def request(self) -> Request:
        chars = int(self.ask.max_chars * _SLACK)
        self.tries += 1
        grammar = line_grammar(self.language, self.excluded, bare=self.tries == MAX_TRIES)
        return Request(
            prompt=self.ask.prompt,
            constraint=Constraint("lark", grammar),
            max_tokens=chars if self.language.script else chars // 3,
        )

    def take(self, completion: Completion, names: KnownNames, examples: str) -> None:
        """Accept the text, or note what to exclude from the next try."""
        text = tidy(completion.text)
        if invented := names.invented(text):
            self.excluded += invented
            listed = ", ".join(invented)
            self.changes.append(f"asked again without {listed}, which the diff does not have")
            return
        if echo := _echo(text, examples, names):
            self.excluded.append(echo)
            self.changes.append("asked again, as it repeated an example")
            return
        is_whole = completion.finish_reason == "stop" and completion.cut is None
        limit = self.ask.max_chars if is_whole else min(self.ask.max_chars, len(text) - 1)
        self.text = shortened(text, limit)
        if self.text != text:
            self.changes.append(f"shortened from {len(text)} characters")


def written(
    asks: Sequence[LineAsk], names: KnownNames, language: Language, examples: str = ""
) -> Generator[Sequence[Ask], Sequence[Result], tuple[list[Line], Usage]]:
    """The lines, asked for side by side; those with invented names again, without these.

    So are those that repeat some words of the `examples` which the diff does not have.
    The last try may use no mark or digit that names are made with.
    """
    drafts = [_Draft(ask, language) for ask in asks]
    usage = Usage()
    for _ in range(MAX_TRIES):
        waiting = [draft for draft in drafts if draft.text is None]
        if not waiting:
            break
        results = yield [draft.request() for draft in waiting]
        for draft, result in zip(waiting, results, strict=True):
            usage += result.usage
            draft.take(completion_of(result), names, examples)
    return [Line(draft.text, tuple(draft.changes)) for draft in drafts], usage


def line_grammar(language: Language, excluded: Sequence[str] = (), *, bare: bool = False) -> str:
    """A Lark grammar: one line, of the language's script, without the excluded texts.

    `bare` leaves out digits and the marks that names are made with, such as `.`, `/` and `_`.

    It begins with a letter (with a verb, if `prompts/commit.toml` has verbs of the language), and
    with none of the file's openings. Its length is
    bounded by the request's tokens: counted in the grammar, it would cost too much to compile.
    """
    least = 3 if language.script else LEAST_CHARS
    others = "".join(other.script for other in languages().values())
    barred = _CONTROL + (others if language == languages()["en"] else "")
    barred += _OF_NAMES if bare else ""
    data = load_prompt("commit")
    openings = "|".join(map(_escaped, data["not_openings"]))
    verbs = data.get(f"verbs_{language.code}", ())
    never = [rf"({openings}|[A-Za-z-]+(\([^)]*\))?!?:).*", r".*[.!?] .*"]  # one sentence
    if excluded:
        texts = [_escaped(text[:_EXCLUDED_CHARS]) for text in excluded[:_MAX_EXCLUDED]]
        never.append(f".*({'|'.join(texts)}).*")
    first = f"({'|'.join(verbs)}) " if verbs else f"[^{_NO_LETTER}{barred}]"
    parts = [
        f"/{first}[^{barred}]{{{least - 1},}}/",
        *([f"/.*{language.script}.*/"] if language.script else ()),
        *(f"~/{pattern}/" for pattern in never),
    ]
    return f"start: LINE\nLINE: {' & '.join(parts)}\n"


def _echo(text: str, examples: str, names: KnownNames) -> str | None:
    """What a line has from an example and not from the diff: `_ECHO_CHARS`, or all of a line."""
    low = examples.lower()
    if text.lower() in low.splitlines() and not names.has(text):
        return text
    for start in [0, *(found.end() for found in re.finditer(r"\s+|(?<=[^\x00-\x7f])", text))]:
        part = text[start : start + _ECHO_CHARS]
        if len(part) == _ECHO_CHARS and part.lower() in low and not names.has(part):
            return part
    return None


def tidy(text: str) -> str:
    """Without what surrounds a line: white space, quotes, a full stop."""
    text = " ".join(text.split())
    while text and (text[-1] in ".。,;:，；：…" or (text[0] == text[-1] and text[0] in "\"'`")):
        text = text.strip("\"'`") if text[-1] in "\"'`" else text[:-1].rstrip()
    return text


def shortened(text: str, max_chars: int) -> str:
    """The text up to the end of its last clause within `max_chars`; else up to a whole word."""
    if len(text) <= max_chars:
        return text
    ends = [found.start() for found in _CLAUSE.finditer(text[: max_chars + 1])]
    good = [end for end in ends if end >= max_chars // 3]
    space = text.rfind(" ", 0, max_chars + 1)
    end = good[-1] if good else space if space >= max_chars // 3 else max_chars
    text = text[:end].rstrip()
    while (cut := _HANGING.sub("", text)) != text and len(cut) >= LEAST_CHARS:
        text = cut
    return text


def _escaped(text: str) -> str:
    """A text within a regular expression between slashes."""
    return re.escape(text).replace("/", r"\/")
