"""Compose files: a service's command (text or list) and environment (mapping or list)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import yaml

from vedette.errors import InputError

from .lexer import PLAIN, simple_commands
from .source_shell import command_of, is_program, shell_commands
from .words import Command, Edit, EnvEntry, InlineLayout, Span, Word, line_below

_NAME = re.compile(r"llama", re.IGNORECASE)
_VARIABLE = "LLAMA_"
_PLAIN_SCALAR = re.compile(r"[A-Za-z0-9_./-][\w./:@%+,=-]*")


class ListLayout:
    """Words as items of a YAML list, in blocks or in brackets."""

    def __init__(self, text: str, *, flow: bool) -> None:
        self._text, self._flow = text, flow

    def spell_name(self, name: str) -> str:
        """A flag as it is written here."""
        return json.dumps(name) if self._flow else name

    def spell_value(self, value: str) -> str:
        """A value as it is written here: a text, never a number of YAML's."""
        if self._flow or not _PLAIN_SCALAR.fullmatch(value) or _is_other_type(value):
            return json.dumps(value, ensure_ascii=False)
        return value

    def after(self, word: Word, name: str | None, values: Sequence[str]) -> Edit:
        """More items after a word's."""
        spelled = [*([self.spell_name(name)] if name else []), *map(self.spell_value, values)]
        if self._flow:
            at = word.span.end
            return Edit(Span(at, at), "".join(f", {each}" for each in spelled))
        line = self._text.rfind("\n", 0, word.span.start) + 1
        lead = self._text[line : word.span.start]
        lines = "\n".join(f"{lead}{each}" for each in spelled)
        return line_below(self._text, word.span.end, lines)


class MappingLayout:
    """Another variable below the last one of `environment`."""

    def __init__(self, text: str, entry: Span, *, separator: str) -> None:
        self._text, self._entry, self._separator = text, entry, separator

    def add(self, name: str, value: str) -> Edit:
        """Set one more."""
        line = self._text.rfind("\n", 0, self._entry.start) + 1
        lead = self._text[line : self._entry.start]
        return line_below(self._text, self._entry.end, f"{lead}{name}{self._separator}{value}")


def compose_commands(text: str) -> list[Command]:
    """The services that run a llama-server. Raises `InputError` for what is no YAML."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise InputError(f"this is no YAML{line}: {getattr(error, 'problem', error)}") from error
    services = _child(root, "services")
    if not isinstance(services, yaml.MappingNode):
        return []
    found = []
    for key, service in services.value:
        if isinstance(service, yaml.MappingNode):
            found += _service(text, str(key.value), service)
    return found


def _service(text: str, name: str, service: yaml.MappingNode) -> list[Command]:
    env, env_layout = _environment(text, _child(service, "environment"))
    image = _child(service, "image")
    title = str(image.value) if isinstance(image, yaml.ScalarNode) else name
    entrypoint = _words(text, _child(service, "entrypoint"))
    words = _words(text, _child(service, "command"))
    named = command_of(words) or command_of(entrypoint)
    if named is not None:
        own = named.words if is_program(words[0].value if words else "") else (*named.words, *words)
        own = named.words if command_of(words) else own
        return [_command(text, service, named.program, own, env, env_layout, title)]
    inner = [each for word in (*entrypoint, *words) for each in _inside(text, word)]
    if inner:
        return [replace(each, env=(*env, *each.env)) for each in inner]
    is_ours = _NAME.search(title) or any(each.written.startswith("LLAMA_ARG_") for each in env)
    if not is_ours or not (words or env):
        return []
    return [_command(text, service, None, words, env, env_layout, title)]


def _command(
    text: str,
    service: yaml.MappingNode,
    program: Word | None,
    words: Sequence[Word],
    env: Sequence[EnvEntry],
    env_layout: MappingLayout | None,
    title: str,
) -> Command:
    if words:
        span = Span(words[0].span.start, words[-1].span.end)
    else:
        span = Span(env[0].name_span.start, service.end_mark.index) if env else _span(service)
    return Command(program, tuple(words), tuple(env), span, env_layout=env_layout, title=title)


def _inside(text: str, word: Word) -> list[Command]:
    """A script given as one item, as in `["sh", "-c", "llama-server ..."]`."""
    raw = text[word.span.start : word.span.end]
    if " " not in word.value or "\\" in raw:
        return []
    quoted = raw[0] in "\"'"
    return shell_commands(text, Span(word.span.start + quoted, word.span.end - quoted))


def _words(text: str, node: yaml.Node | None) -> list[Word]:
    if isinstance(node, yaml.SequenceNode):
        return _items(text, node)
    if isinstance(node, yaml.ScalarNode) and node.value:
        return _split(text, node)
    return []


def _items(text: str, node: yaml.SequenceNode) -> list[Word]:
    layout = ListLayout(text, flow=bool(node.flow_style))
    items = [each for each in node.value if isinstance(each, yaml.ScalarNode)]
    words = []
    for index, item in enumerate(items):
        span = _span(item)
        if not node.flow_style:
            start = text.rfind("\n", 0, span.start) + 1
            end = text.find("\n", span.end)
            removal = Span(start, len(text) if end < 0 else end + 1)
        elif index:
            removal = Span(_span(items[index - 1]).end, span.end)
        else:
            removal = Span(span.start, _span(items[1]).start if len(items) > 1 else span.end)
        dynamic = _is_dynamic(item.value)
        opaque = bool(re.fullmatch(r"\$\{?\w+\}?", item.value))
        words.append(Word(span, item.value, removal, layout, dynamic, opaque))
    return words


def _split(text: str, node: yaml.ScalarNode) -> list[Word]:
    """A command as one text: its words where they stand, if nothing in it is escaped."""
    span = _span(node)
    raw = text[span.start : span.end]
    if node.style in ("|", ">"):
        span = Span(span.start + raw.find("\n") + 1, span.end)
    elif node.style in ('"', "'"):
        if "\\" in raw or "''" in raw:
            raise InputError(
                f"line {node.start_mark.line + 1}: a command with escapes within quotes cannot be "
                "read word by word",
                hint="write it as a list, or without the outer quotes",
            )
        span = Span(span.start + 1, span.end - 1)
    return [
        word
        for simple in simple_commands(text, span, PLAIN, InlineLayout())
        for word in simple.words
    ]


def _environment(text: str, node: yaml.Node | None) -> tuple[list[EnvEntry], MappingLayout | None]:
    found: list[EnvEntry] = []
    separator = ": "
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(value, yaml.ScalarNode) and str(key.value).startswith(_VARIABLE):
                span = Span(_span(key).start, _span(value).end)
                entry = _entry(text, key.value, value.value, _unquoted(text, key), span)
                entry.value_span = _unquoted(text, value)
                found.append(entry)
    elif isinstance(node, yaml.SequenceNode):
        separator = "="
        for item in node.value:
            name, equals, value = str(item.value).partition("=")
            if equals and name.startswith(_VARIABLE):
                inner = _unquoted(text, item)
                span = Span(inner.start, inner.start + len(name))
                entry = _entry(text, name, value, span, _span(item))
                entry.value_span = Span(span.end + 1, inner.end)
                found.append(entry)
    if not found:
        return [], None
    quoted = text[found[-1].name_span.start - 1] in "\"'"
    last = found[-1]
    layout = None if quoted else MappingLayout(text, last.name_span, separator=separator)
    return found, layout


def _entry(text: str, name: str, value: str, name_span: Span, span: Span) -> EnvEntry:
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.end)
    removal = Span(start, len(text) if end < 0 else end + 1)
    return EnvEntry(name, value, name_span, removal, _is_dynamic(value))


def _unquoted(text: str, node: yaml.ScalarNode) -> Span:
    span = _span(node)
    quoted = text[span.start : span.start + 1] in ('"', "'")
    return Span(span.start + quoted, span.end - quoted)


def _is_dynamic(value: str) -> bool:
    return "$" in value.replace("$$", "")


def _is_other_type(value: str) -> bool:
    return not isinstance(yaml.safe_load(value), str)


def _span(node: yaml.Node) -> Span:
    return Span(node.start_mark.index, node.end_mark.index)


def _child(node: yaml.Node | None, name: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if key.value == name), None)
