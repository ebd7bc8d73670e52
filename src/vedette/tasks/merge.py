"""One answer from the answers of several windows of the same text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vedette.types import Json

from .outline import resolve


def merge(
    values: Sequence[Json],
    schema: dict[str, Any],
    is_valid: Callable[[Json], bool] | None = None,
    lost: list[int] | None = None,
) -> Json:
    """Earlier windows win; later ones fill what is still null; lists are joined, repeats dropped.

    A list keeps to its `maxItems`. A value that cannot be joined to a whole that `is_valid`, such
    as the other branch of an `anyOf`, is left out: the earlier one wins. The 1-based numbers of
    the windows that lost something either way are appended to `lost`.
    """
    merged = values[0]
    for number, value in enumerate(values[1:], start=2):
        cut: list[int] = []
        joined = _join(merged, value, schema, schema, cut)
        fits = is_valid is None or is_valid(joined)
        if fits:
            merged = joined
        if lost is not None and (cut or not fits):
            lost.append(number)
    return merged


def _join(first: Json, second: Json, schema: Any, root: dict[str, Any], cut: list[int]) -> Json:
    """Both in one; how much a list was over its bound is appended to `cut`."""
    schema = resolve(schema, root)
    if isinstance(first, dict) and isinstance(second, dict):
        properties = schema.get("properties", {})
        names = [*first, *(name for name in second if name not in first)]
        return {
            name: _join(first.get(name), second.get(name), properties.get(name, {}), root, cut)
            for name in names
        }
    if isinstance(first, list) and isinstance(second, list):
        joined = [*first, *(value for value in second if value not in first)]
        most = schema.get("maxItems")
        if not isinstance(most, int) or len(joined) <= most:
            return joined
        cut.append(len(joined) - most)
        return joined[:most]
    says_nothing = first is None or (first == "" and second is not None)
    return second if says_nothing else first
