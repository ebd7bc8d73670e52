"""How answers are spelled: JSON without a space that nobody needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it exists for type checkers only
    from llguidance._lib import JsonCompileOptions

COMPACT: JsonCompileOptions = {
    "whitespace_flexible": False,
    "item_separator": ",",
    "key_separator": ":",
}
