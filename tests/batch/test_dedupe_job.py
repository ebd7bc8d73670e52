"""`run_dedupe`: result lines, kept rows, and a model that is asked once about each grey pair."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing

import pytest

from vedette.batch.dedupe import DedupeJob, run_dedupe
from vedette.batch.pairs import PairCheck
from vedette.batch.source import Source
from vedette.errors import EngineFailed, FileError, InputError
from vedette.tasks.dedupe import Matching
from vedette.tasks.same import Same
from vedette.types import Capabilities, Scores, Usage

FOX = "the quick brown fox jumps over the lazy dog"


class Handle:
    def __init__(self, outcome):
        self.outcome = outcome

    def result(self, timeout_s=None):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def cancel(self):
        pass

    def on_done(self, callback):
        callback()


class Judge:
    """Says yes where both records have the word `lazy`; counts what it is asked."""

    capabilities = Capabilities(can_score=True)
    width = 4

    def __init__(self, broken=False):
        self.identity = {"model": "judge"}
        self.asked = 0
        self.closed = 0
        self.broken = broken

    def submit(self, request):
        self.asked += 1
        if self.broken:
            return Handle(InputError("cannot say"))
        yes = request.prompt.messages[-1].content.count("lazy") == 2
        logprobs = (-0.1, -3.0) if yes else (-3.0, -0.1)
        return Handle(
            Scores(choices=request.choices, logprobs=logprobs, usage=Usage(prompt_tokens=7))
        )

    def count_tokens(self, text):
        return len(text.split())

    def close(self):
        self.closed += 1


def job(tmp_path, text, name="in.txt", judge=None, **options):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    source = options.pop("source", {})
    if judge is not None:
        options["ask"] = PairCheck(
            task=Same(), backend=lambda: closing(judge), **options.pop("check", {})
        )
        options.setdefault("matching", Matching(threshold=0.95, grey_from=0.3))
    return DedupeJob(
        source=Source(paths=(str(path),), **source),
        out=str(tmp_path / options.pop("to", "out.jsonl")),
        **options,
    )


def lines(tmp_path, name="out.jsonl"):
    return [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]


def test_there_is_a_line_for_each_row_with_its_cluster(tmp_path):
    text = f"{FOX}\nother\n{FOX.upper()}\n\n{FOX} now\n"
    summary = run_dedupe(job(tmp_path, text))
    found = lines(tmp_path)
    assert [line["id"] for line in found] == ["1", "2", "3", "4", "5"]
    assert [line["value"]["cluster"] for line in found] == [1, 2, 1, 3, 1]
    assert [line["value"]["representative"] for line in found] == ["1", "2", "1", "4", "1"]
    assert [line["value"]["how"] for line in found] == [None, None, "exact", None, "near"]
    assert [line.get("empty", False) for line in found] == [False, False, False, True, False]
    counts = (summary.rows, summary.representatives, summary.exact, summary.near, summary.errors)
    assert counts == (5, 3, 1, 1, 0)
    assert summary.exit_code == 0


def test_a_row_that_cannot_be_read_is_an_error_line_and_the_others_are_answered(tmp_path):
    text = '{"text":"a b c"}\nnot json\n{"text":"a b c"}\n'
    summary = run_dedupe(job(tmp_path, text, "in.jsonl"))
    found = lines(tmp_path)
    assert [line["ok"] for line in found] == [True, False, True]
    assert found[2]["value"]["representative"] == "1"
    assert (summary.errors, summary.exit_code) == (1, 1)


def test_an_amount_keeps_records_apart_and_rows_without_one_are_told(tmp_path):
    rows = [
        {"id": "a", "title": "Word", "price": 10},
        {"id": "b", "title": "word", "price": "10.0"},
        {"id": "c", "title": "Word", "price": 900},
        {"id": "d", "title": "Word", "price": "ask us"},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    summary = run_dedupe(job(tmp_path, text, "in.jsonl", fields=("title",), amount="price"))
    found = lines(tmp_path)
    assert [line["value"]["representative"] for line in found] == ["a", "a", "c", "a"]
    assert "1 rows have no number over 0 in 'price'" in summary.as_text()
    with pytest.raises(InputError, match="name the fields"):
        job(tmp_path, text, "in.jsonl", amount="price")


def test_named_fields_are_compared_and_no_others(tmp_path):
    rows = [
        {"id": "a", "title": "Word", "maker": "M", "price": 1},
        {"id": "b", "title": "WORD", "maker": "m", "price": 2},
        {"id": "c", "title": "Word", "maker": None},
        {"id": "d", "other": 1},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    summary = run_dedupe(job(tmp_path, text, "in.jsonl", fields=("title", "maker", "edition")))
    found = lines(tmp_path)
    assert [line["ok"] for line in found] == [True, True, True, False]
    assert [line["value"]["representative"] for line in found[:3]] == ["a", "a", "c"]
    assert (
        "line 4: there is none of the fields 'title', 'maker', 'edition'"
        in found[3]["error"]["message"]
    )
    assert summary.notes == ("no row has the field 'edition'",)


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("in.txt", "b\na\nB\n\nc\n", "b\na\n\nc\n"),
        ("in.csv", 'text,n\n"a, b",1\n"A,  b",2\nc,3\n', 'text,n\n"a, b",1\nc,3\n'),
        ("in.tsv", "text\tn\na\t1\nA\t2\n", "text\tn\na\t1\n"),
        (
            "in.jsonl",
            '{"n":[1],"text":"a"}\n"a"\n{"text":"A"}\n"z"\n',
            '{"n":[1],"text":"a"}\n"z"\n',
        ),
    ],
)
def test_representatives_are_written_as_they_came_in_input_order(tmp_path, name, text, kept):
    run_dedupe(job(tmp_path, text, name, keep="representatives", to="kept"))
    assert (tmp_path / "kept").read_text() == kept


def test_blocks_stay_apart(tmp_path):
    source = {"records": "blank"}
    text = "a\nb\n\nA\nb\n\nc\n"
    run_dedupe(job(tmp_path, text, keep="representatives", source=source, to="kept"))
    assert (tmp_path / "kept").read_text() == "a\nb\n\nc\n\n"


def test_rows_left_out_because_they_cannot_be_read_are_told(tmp_path):
    text = '{"text":"a"}\n{"txt":"b"}\n'
    summary = run_dedupe(job(tmp_path, text, "in.jsonl", keep="representatives"))
    assert summary.exit_code == 1
    assert "left out" in summary.notes[0]
    assert "no field 'text'" in summary.notes[0]


def test_csv_files_with_different_columns_cannot_be_one(tmp_path):
    (tmp_path / "a.csv").write_text("text,n\na,1\n")
    (tmp_path / "b.csv").write_text("text,m\nb,1\n")
    paths = (str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))
    made = DedupeJob(
        source=Source(paths=paths), keep="representatives", out=str(tmp_path / "out.csv")
    )
    with pytest.raises(InputError, match="different columns"):
        run_dedupe(made)


TEXT = "\n".join(
    (FOX, "the quick brown fox jumps over my lazy cat", "the quick brown fox jumps far") * 2
)


def test_grey_pairs_are_judged_and_told_as_the_models(tmp_path):
    judge = Judge()
    summary = run_dedupe(job(tmp_path, TEXT, judge=judge))
    found = [line["value"] for line in lines(tmp_path)]
    assert [value["representative"] for value in found] == ["1", "1", "3", "1", "1", "3"]
    assert [value["how"] for value in found] == [None, "model", None, "exact", "model", "exact"]
    assert found[4]["via"] == "2"
    assert found[1]["score"] > 0.5
    assert summary.model == 2
    assert judge.asked == 2 * summary.grey_pairs == 2 * summary.asked
    assert judge.closed == 1
    usage = [line["usage"]["prompt_tokens"] for line in lines(tmp_path)]
    assert sum(usage) == summary.usage.prompt_tokens == 7 * judge.asked


def test_what_the_journal_knows_is_not_asked_again(tmp_path):
    first, second = Judge(), Judge()
    run_dedupe(job(tmp_path, TEXT, judge=first))
    (tmp_path / "out.jsonl").rename(tmp_path / "before.jsonl")
    summary = run_dedupe(job(tmp_path, TEXT, judge=second))
    assert (first.asked > 0, second.asked, summary.asked) == (True, 0, 0)
    assert lines(tmp_path) == lines(tmp_path, "before.jsonl")


def test_interrupted_it_writes_nothing_and_goes_on_where_it_was(tmp_path):
    class Stopped(Judge):
        def submit(self, request):
            if self.asked == 2:
                raise KeyboardInterrupt
            return super().submit(request)

    stopped, judge = Stopped(), Judge()
    with pytest.raises(KeyboardInterrupt):
        run_dedupe(job(tmp_path, TEXT, judge=stopped, check={"workers": 1}))
    assert stopped.closed == 1
    assert not (tmp_path / "out.jsonl").exists()
    summary = run_dedupe(job(tmp_path, TEXT, judge=judge))
    assert summary.grey_pairs > summary.asked == judge.asked // 2


def test_a_pair_without_an_answer_stays_apart_is_told_and_can_be_asked_again(tmp_path):
    summary = run_dedupe(job(tmp_path, TEXT, judge=Judge(broken=True)))
    assert summary.unanswered == summary.grey_pairs > 0
    assert summary.exit_code == 1
    assert "stay apart; the first: cannot say" in summary.notes[0]
    (tmp_path / "out.jsonl").unlink()
    judge = Judge()
    summary = run_dedupe(job(tmp_path, TEXT, judge=judge, check={"retry_failed": True}))
    assert (summary.unanswered, judge.asked) == (0, 2 * summary.grey_pairs)


def test_the_model_is_not_opened_where_no_pair_is_grey(tmp_path):
    def never():
        raise EngineFailed("opened")

    made = job(
        tmp_path,
        "alpha beta\nalpha beta\nsomething else\n",
        matching=Matching(grey_from=0.5),
        ask=PairCheck(task=Same(), backend=never),
    )
    assert run_dedupe(made).grey_pairs == 0


def test_an_output_with_content_is_not_touched_unless_asked_to(tmp_path):
    (tmp_path / "out.jsonl").write_text("mine\n")
    with pytest.raises(FileError, match="has content already"):
        run_dedupe(job(tmp_path, "a\n"))
    run_dedupe(job(tmp_path, "a\n", fresh=True))
    assert len(lines(tmp_path)) == 1


def test_a_band_without_a_judge_is_refused(tmp_path):
    with pytest.raises(InputError, match="go together"):
        job(tmp_path, "a\n", matching=Matching(grey_from=0.4))
    with pytest.raises(InputError, match="same_above is 1"):
        PairCheck(task=Same(), backend=Judge, same_above=1)


def test_without_a_model_no_engine_is_imported(tmp_path):
    (tmp_path / "in.txt").write_text("a b\nA b\n")
    code = (
        "import sys; from vedette.cli.main import run; "
        "code = run(['dedupe', 'in.txt', '--quiet']); "
        "print(code, [n for n in ('llama_cpp', 'llguidance') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"
