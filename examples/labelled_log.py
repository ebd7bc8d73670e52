"""The lines of app.log with their right answers, as labelled rows for `eval` and `adapt`.

    python examples/labelled_log.py > events.jsonl

Empty lines are left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def labelled_rows() -> list[dict[str, object]]:
    lines = (FOLDER / "app.log").read_text("utf-8").split("\n")
    answers = (FOLDER / "app.expected.jsonl").read_text("utf-8").splitlines()
    rows = []
    for answer in map(json.loads, answers):
        text = lines[int(answer["id"]) - 1]
        if text.strip():
            rows.append({"id": answer["id"], "text": text, "value": answer["value"]})
    return rows


if __name__ == "__main__":
    for row in labelled_rows():
        sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")
