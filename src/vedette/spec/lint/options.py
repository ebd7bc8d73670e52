"""A command's words as options, in the form in which they are mended."""

from __future__ import annotations

from dataclasses import dataclass, field

from .bundled import bundled_table
from .flag_table import Flag, FlagTable
from .settings import known
from .words import Command, Edit, Word

_OTHER_TABLES = ("new", "old", "ik")


@dataclass(slots=True)
class Option:
    """A flag with its values. What changes as it is mended: `name`, `values`, `removed`.

    `word` is None for an option that mending adds (after `anchor`). `joined`: name and value are
    one word (`--flag=8`), which llama.cpp does not take. `missing`: fewer values than it needs.
    `inherited`: it stands elsewhere and is judged there.
    """

    name: str
    values: list[str]
    word: Word | None = None
    given: tuple[Word, ...] = ()
    joined: bool = False
    missing: bool = False
    removed: bool = False
    inherited: bool = False
    anchor: Option | None = None
    written: str = ""
    written_values: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        self.written = self.written or self.name
        self.written_values = self.written_values or tuple(self.values)

    @property
    def dynamic(self) -> bool:
        """Whether a value holds a variable."""
        return any(word.dynamic for word in self.given) or bool(
            self.joined and self.word and self.word.dynamic
        )

    @property
    def last_word(self) -> Word | None:
        """The last of its words in the text."""
        return self.given[-1] if self.given else self.word


@dataclass(frozen=True, slots=True)
class Reading:
    """Options, words that belong to none, and variables that may hold more options."""

    options: list[Option]
    strays: tuple[Word, ...]
    opaque: tuple[Word, ...]


def read_options(command: Command, table: FlagTable) -> Reading:
    """Divide the words as the build would; flags of other builds keep the values they had there."""
    if command.grouped:
        return _read_pairs(command, table)
    options: list[Option] = []
    strays: list[Word] = []
    opaque: list[Word] = []
    words, at = command.words, 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.opaque:
            opaque.append(word)
        elif not _is_flag(word.value):
            strays.append(word)
        elif (parted := _parted(word, table)) is not None:
            options.append(parted)
        else:
            option, used = _with_values(word, words[at:], table)
            options.append(option)
            at += used
    return Reading(options, tuple(strays), tuple(opaque))


def flag_anywhere(name: str, table: FlagTable) -> Flag | None:
    """What a flag is in this build, or in any that has a table."""
    tables = (table, *(bundled_table(each) for each in _OTHER_TABLES))
    return next((flag for each in tables if (flag := each.find(name))), None)


def n_values_of(name: str, table: FlagTable) -> int | None:
    """How many values follow a flag, as far as any build knows it."""
    own = table.find(name)
    setting, gone = known().of_name(name), known().gone_flag(name)
    if own is not None:
        return len(own.values)
    if setting is not None:
        return setting.n_values
    if gone is not None:
        return gone.n_values
    flag = flag_anywhere(name, table)
    return None if flag is None else len(flag.values)


def _is_flag(value: str) -> bool:
    return len(value) > 1 and value[0] == "-" and not value[1:2].isdigit() and value != "--"


def _parted(word: Word, table: FlagTable) -> Option | None:
    """`--flag=value`, or `--flag value` in one word, as an option of two."""
    for mark in ("=", " "):
        name, found, value = word.value.partition(mark)
        if found and n_values_of(name, table) and n_values_of(word.value, table) is None:
            return Option(name, [value.strip()], word, joined=True)
    return None


def _with_values(word: Word, rest: tuple[Word, ...], table: FlagTable) -> tuple[Option, int]:
    """The option, and how many of the following words are its values."""
    name = word.value
    n_values = n_values_of(name, table)
    if n_values is None:  # known nowhere: what follows and is no flag is likely its value
        n_values = 1 if rest and not _is_flag(rest[0].value) and not rest[0].opaque else 0
    flag = table.find(name)
    if flag is not None and flag.optional and not (rest and rest[0].value in flag.choices):
        n_values = 0
    given: list[Word] = []
    for candidate in rest[:n_values]:
        if _is_flag(candidate.value) and n_values_of(candidate.value, table) is not None:
            break
        given.append(candidate)
    missing = len(given) < n_values
    values = [each.value for each in given]
    return Option(name, values, word, tuple(given), missing=missing), len(given)


def _read_pairs(command: Command, table: FlagTable) -> Reading:
    """Keys and values of an INI section; a switch has the value true or false there."""
    options = [
        _of_pair(key, value, table, inherited=True) for key, value in _pairs(command.inherited)
    ]
    options += [_of_pair(key, value, table) for key, value in _pairs(command.words)]
    return Reading([each for each in options if each is not None], (), ())


def _pairs(words: tuple[Word, ...]) -> list[tuple[Word, Word]]:
    return list(zip(words[::2], words[1::2], strict=True))


def _of_pair(key: Word, value: Word, table: FlagTable, *, inherited: bool = False) -> Option | None:
    name = _key_name(key.value, table)
    is_switch = n_values_of(name, table) == 0
    if is_switch and value.value.lower() in ("false", "0", "off", "disabled"):
        return None  # it asks for nothing
    option = Option(name, [] if is_switch else [value.value], key, (value,), inherited=inherited)
    option.missing = not is_switch and not value.value
    return option


def _key_name(name: str, table: FlagTable) -> str:
    """A key is a flag without its dashes; the short ones have one dash."""
    short = f"-{name.lstrip('-')}"
    is_long = n_values_of(name, table) is not None or n_values_of(short, table) is None
    return name if is_long else short


def option_edits(options: list[Option], command: Command) -> list[Edit]:
    """What mending has changed, as edits of the text."""
    edits: list[Edit] = []
    inserted: dict[Word, list[Edit]] = {}  # what follows a word: first the values of its option
    for option in options:
        if option.word is not None and not option.inherited:
            edits += _changed(option, command)
            if not option.removed and (option.joined or (not option.given and option.values)):
                part = option.word.layout.after(option.word, None, option.values)
                inserted.setdefault(option.word, []).append(part)
    for option in options:
        if option.word is None and not option.removed:
            word = _anchor(option, options, command)
            part = word.layout.after(word, option.name, option.values)
            inserted.setdefault(word, []).append(part)
    for parts in inserted.values():
        edits.append(Edit(parts[0].span, "".join(each.text for each in parts)))
    return edits


def _changed(option: Option, command: Command) -> list[Edit]:
    """Edits of the option's own words."""
    word = option.word
    if word is None:
        return []
    if option.removed:
        words = (word,) if command.grouped else (word, *option.given)
        return [Edit(each.removal, "") for each in words]
    edits = []
    if option.name != option.written or option.joined:
        edits.append(Edit(word.span, word.layout.spell_name(option.name)))
    for given, value in zip(option.given, option.values, strict=False):
        if value != given.value:
            edits.append(Edit(given.span, given.layout.spell_value(value)))
    if not command.grouped:
        edits += [Edit(each.removal, "") for each in option.given[len(option.values) :]]
    return edits


def _anchor(option: Option, options: list[Option], command: Command) -> Word:
    """The word after which an option is added: one that stays."""
    kept = [
        each
        for each in options
        if each.word is not None and not each.removed and not each.inherited
    ]
    wanted = option.anchor
    if wanted in kept and wanted is not None and wanted.last_word is not None:
        return wanted.last_word
    if wanted is not None and wanted.word is not None:
        before = [each for each in kept if each.word and each.word.span < wanted.word.span]
        if before and before[-1].last_word is not None:
            return before[-1].last_word
    words = [each.last_word for each in kept if each.last_word is not None]
    if words and not command.program:
        return words[-1]
    last = next((each for each in reversed(command.words) if not _removed(each, options)), None)
    anchor = last or command.program
    if anchor is None:
        raise ValueError("a command without any word takes no options")
    return anchor


def _removed(word: Word, options: list[Option]) -> bool:
    return any(each.removed and word in (each.word, *each.given) for each in options)
