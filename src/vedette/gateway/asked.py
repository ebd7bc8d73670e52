"""Whether a request asks what the local model answers by itself, and about which text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .messages import is_plain, last_user_text, texts_by


def asked_item(
    body: Mapping[str, Any], when: re.Pattern[str], item: re.Pattern[str] | None
) -> str | None:
    """What a task is about; None for a request that does not ask it.

    `when` is looked for in the turns that instruct, `item` in the user's: its group is the text.
    """
    told = "\n".join(texts_by(body, instructing=True))
    if not is_plain(body) or not when.search(told):
        return None
    text = last_user_text(body)
    if item is None:
        return text
    found = item.search(text)
    return found[1] if found else None
