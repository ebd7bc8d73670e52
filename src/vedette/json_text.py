"""How JSON is spelled for models and by them: on one line, a space after commas and colons.

Small models hardly ever saw lists without spaces; held to `["a","b"]`, they end lists early and
write odd words, since the tokens they would use are not allowed (docs/benchmarks.md, array recall).
"""

from __future__ import annotations

import json

from vedette.types import Json

ITEM_SEPARATOR = ", "
KEY_SEPARATOR = ": "


def json_text(value: Json) -> str:
    """The text of a value, as prompts show it and answers are held to it."""
    return json.dumps(value, ensure_ascii=False, separators=(ITEM_SEPARATOR, KEY_SEPARATOR))
