"""How answers are spelled: the grammar engine's options for JSON on one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vedette.json_text import ITEM_SEPARATOR, KEY_SEPARATOR

if TYPE_CHECKING:  # it exists for type checkers only
    from llguidance._lib import JsonCompileOptions

SPELLING: JsonCompileOptions = {
    "whitespace_flexible": False,
    "item_separator": re.escape(ITEM_SEPARATOR),  # the engine takes regular expressions
    "key_separator": re.escape(KEY_SEPARATOR),
}
