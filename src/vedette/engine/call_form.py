"""How a model writes calls of tools: found out by having its own template show some."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .constraint.verbatim import lark_literal

Render = Callable[[list[dict[str, Any]], list[dict[str, Any]]], str]

_SAID, _TOOL = "vedette said this", "vedette_tool"
_NAME, _ARGUMENT = "vedette_name_", "vedette_argument"
_USER = {"role": "user", "content": "x"}


@dataclass(frozen=True, slots=True)
class CallTexts:
    """What stands around calls: `opening` name `middle` arguments `closing`.

    Between the arguments of one call and the name of the next stands `between`; None: there is
    one call at most.
    """

    opening: str
    middle: str
    closing: str
    between: str | None


@dataclass(frozen=True, slots=True)
class CallForm:
    """The texts, and each in Lark, as the grammar engine must be told it.

    A text in which a token of its own stands, as `<tool_call>` may be one, is spelt by that token.
    """

    texts: CallTexts
    opening: str
    middle: str
    closing: str
    between: str | None


def plain_form(texts: CallTexts) -> CallForm:
    """The form of texts that are written character by character."""
    between = None if texts.between is None else lark_literal(texts.between)
    opening, middle, closing = map(lark_literal, (texts.opening, texts.middle, texts.closing))
    return CallForm(texts, opening, middle, closing, between)


def spelt_form(
    texts: CallTexts,
    ids_of: Callable[[str], list[int]],
    piece: Callable[[int], bytes],
    written: Sequence[bytes],
) -> CallForm | None:
    """The form in one vocabulary; None where its tokens do not show the texts as they are.

    `ids_of` tokenises, tokens of their own included; `piece` is what a token shows in an answer;
    `written` are the bytes of each that the grammar engine spells texts with, b"" for others.
    """
    spelt: list[str] = []
    for text in (texts.opening, texts.middle, texts.closing, texts.between or ""):
        ids = ids_of(text) if text else []
        if b"".join(map(piece, ids)) != text.encode():
            return None
        spelt.append(_spelt(ids, written))
    opening, middle, closing, between = spelt
    return CallForm(texts, opening, middle, closing, between if texts.between else None)


def _spelt(ids: Sequence[int], written: Sequence[bytes]) -> str:
    """Tokens in Lark: as text, or by number."""
    parts: list[str] = []
    plain = b""
    for token in ids:
        if written[token]:
            plain += written[token]
            continue
        if plain:
            parts.append(lark_literal(plain.decode()))
        parts.append(f"<[{token}]>")
        plain = b""
    if plain:
        parts.append(lark_literal(plain.decode()))
    return " ".join(parts) or '""'


def probed(render: Render) -> CallTexts | None:
    """What a template puts around calls; None where it shows none. `render` may raise anything."""
    try:
        said = render([_USER, {"role": "assistant", "content": _SAID}], [_tool()])
        if _SAID not in said or _TOOL not in said:
            return None
        text, n_calls = _with_calls(render)
    except Exception:  # a template is foreign code; one that refuses calls knows none
        return None
    before, _, after = said.partition(_SAID)
    places = [place for i in range(n_calls) if (place := _place_of(text, i))]
    if len(places) < n_calls or not text.startswith(before) or not text.endswith(after):
        return None
    first, last = places[0], places[-1]
    return CallTexts(
        opening=text[len(before) : first.name],
        middle=text[first.name_end : first.arguments],
        closing=text[last.arguments_end :].removesuffix(after),
        between=text[first.arguments_end : last.name] if n_calls > 1 else None,
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a call's name and arguments begin and end."""

    name: int
    name_end: int
    arguments: int
    arguments_end: int


def _place_of(text: str, number: int) -> _Place | None:
    name, arguments = f"{_NAME}{number}", json.dumps({_ARGUMENT: number})
    at = text.find(name)
    of_arguments = text.find(arguments, at)
    if at < 0 or of_arguments < 0:
        return None
    return _Place(at, at + len(name), of_arguments, of_arguments + len(arguments))


def _with_calls(render: Render) -> tuple[str, int]:
    """A turn of two calls, or of one where a template takes no more."""
    calls = [_call(0), _call(1)]
    turn: dict[str, Any] = {"role": "assistant", "content": ""}
    try:
        return render([_USER, turn | {"tool_calls": calls}], [_tool()]), 2
    except Exception:  # as in `probed`
        return render([_USER, turn | {"tool_calls": calls[:1]}], [_tool()]), 1


def _call(number: int) -> dict[str, Any]:
    function = {"name": f"{_NAME}{number}", "arguments": {_ARGUMENT: number}}
    return {"id": f"{number:09d}", "type": "function", "function": function}


def _tool() -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}}
    function = {"name": _TOOL, "description": "a tool", "parameters": parameters}
    return {"type": "function", "function": function}
