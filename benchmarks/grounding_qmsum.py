"""How many sentences that people wrote about a meeting would `summarise` leave out (QMSum)?

    python benchmarks/grounding_qmsum.py FILE

FILE is a JSONL file of QMSum. Every sentence of its answers is held against its meeting: there,
nearly all should stand. And with each of its numbers changed to one that the meeting does not have:
there, none should.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

from vedette.tasks.grounding import Grounding
from vedette.tasks.summarise.keeper import written_sentences


def changed(sentence: str, numbers: set[str]) -> str | None:
    """The sentence with its first number made another one; None where it has none."""
    found = re.search(r"\d+", sentence)
    if found is None:
        return None
    other = next(str(n) for n in range(int(found[0]) + 1, 10**9) if str(n) not in numbers)
    return sentence[: found.start()] + other + sentence[found.end() :]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    args = parser.parse_args()
    n = n_changed = n_missed = 0
    faults: Counter[str] = Counter()
    for line in args.file.read_text("utf-8").splitlines():
        row = json.loads(line)
        turns = row["meeting_transcripts"]
        text = "\n".join(f"{turn['speaker']}: {turn['content']}" for turn in turns)
        grounding = Grounding(text)
        numbers = set(re.findall(r"\d+", text))
        for query in (*row["general_query_list"], *row["specific_query_list"]):
            for sentence in written_sentences(query["answer"], is_whole=True):
                n += 1
                fault = grounding.fault(sentence)
                if fault is not None:
                    faults[fault] += 1
                elif wrong := changed(sentence, numbers):
                    n_changed += 1
                    n_missed += grounding.fault(wrong) is None
    print(f"{n} sentences, {n - faults.total()} stand ({1 - faults.total() / n:.1%})")
    print(f"{n_changed} with a number changed, {n_missed} stand")
    for fault, times in faults.most_common(20):
        print(f"{times:4}  {fault}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
