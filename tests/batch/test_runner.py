"""Jobs: result lines, identical rows, resuming, changed jobs and inputs, refusals."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.batch import Job, Source, check, run, runner
from vedette.batch.journal import Journal
from vedette.errors import DiskFull, FileError, InputError, JournalMismatch

from .fakes import FakeBackend, ShoutTask

MIXED = ["a b", "", "break 1", "a b", "too-long", "c", "refuse", "a b", "d"]


@pytest.fixture(scope="module", autouse=True)
def no_fsync():
    """Nothing here depends on it, and a busy disk would make it slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        yield


class Bench:
    """A folder with an input and an output, and jobs over them."""

    def __init__(self, folder) -> None:
        self.input = str(folder / "in.log")
        self.out = str(folder / "out.jsonl")
        self.backend = FakeBackend(delay_ms=0.2)

    def rows(self, texts) -> None:
        with open(self.input, "w") as file:
            file.writelines(text + "\n" for text in texts)

    def job(self, **options) -> Job:
        defaults = {
            "source": Source(paths=(self.input,)),
            "task": ShoutTask(),
            "backend": self.backend,
            "out": self.out,
            "retry_after_s": (0.001,),
        }
        return Job(**{**defaults, **options})

    def run(self, **options):
        return run(self.job(**options))

    @property
    def bytes(self) -> bytes:
        with open(self.out, "rb") as file:
            return file.read()

    @property
    def lines(self) -> list:
        return [json.loads(line) for line in self.bytes.splitlines()]

    def asked_anew(self) -> list[str]:
        """What was submitted since the last call."""
        submitted, self.backend.submitted = self.backend.submitted, []
        return submitted


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_result_lines_are_as_documented_and_in_input_order(bench):
    bench.rows(["hello world", "break", ""])
    summary = bench.run()
    assert bench.bytes == (
        b'{"id":"1","ok":true,"value":{"shouted":"HELLO WORLD"},'
        b'"usage":{"prompt_tokens":12,"completion_tokens":2,"forced_tokens":0}}\n'
        b'{"id":"2","ok":false,'
        b'"error":{"code":"invalid_input","message":"it broke","hint":"do not"}}\n'
        b'{"id":"3","ok":true,"value":{"shouted":""},'
        b'"usage":{"prompt_tokens":0,"completion_tokens":0,"forced_tokens":0}}\n'
    )
    assert (summary.items, summary.ok, summary.errors, summary.exit_code) == (3, 2, 1, 1)
    assert summary.usage.prompt_tokens == 12


def test_usage_of_a_line_does_not_depend_on_what_was_cached(bench):
    bench.rows(["flaky"])
    bench.run()
    assert "cached_tokens" not in bench.lines[0]["usage"]


def test_extra_keys_follow_and_columns_reach_the_task(bench):
    path = bench.input + ".jsonl"
    with open(path, "w") as file:
        file.write('{"id":"k","text":"a","lang":"de"}\n')
    bench.run(source=Source(paths=(path,), columns=("lang",)))
    assert list(bench.lines[0]) == ["id", "ok", "value", "usage", "columns"]
    assert bench.lines[0]["columns"] == {"lang": "de"}


def test_identical_rows_are_asked_once_and_each_has_its_own_line(bench):
    bench.rows(["same", "other", "same", "same", "break", "break"])
    summary = bench.run()
    assert sorted(bench.asked_anew()) == ["break", "other", "same"]
    assert [line["id"] for line in bench.lines] == ["1", "2", "3", "4", "5", "6"]
    assert bench.lines[3]["value"] == {"shouted": "SAME"}
    assert (summary.asked, summary.duplicates) == (3, 3)


def test_rows_that_differ_in_a_column_the_task_reads_are_not_identical(bench):
    path = bench.input + ".jsonl"
    with open(path, "w") as file:
        file.write('{"text":"a","n":1,"m":1}\n{"text":"a","n":2,"m":1}\n{"text":"a","n":1,"m":2}\n')
    assert bench.run(source=Source(paths=(path,), columns=("n",))).asked == 2


def test_bad_rows_and_refused_items_are_error_rows_and_the_job_goes_on(bench):
    path = bench.input + ".jsonl"
    with open(path, "w") as file:
        file.write('"a"\n{"text"\n"too-long"\n"refuse"\n"dead"\n"z"\n')
    summary = bench.run(source=Source(paths=(path,)))
    codes = [line.get("error", {}).get("code") for line in bench.lines]
    wanted = [None, "invalid_input", "input_too_long", "invalid_input", "engine_failed", None]
    assert codes == wanted
    assert (summary.errors, summary.bad_rows, summary.retried_requests) == (4, 1, 1)


def test_the_same_command_again_has_nothing_to_do_and_changes_nothing(bench):
    bench.rows(MIXED)
    bench.run()
    before = (bench.bytes, os.stat(bench.out).st_mtime_ns)
    bench.asked_anew()
    summary = bench.run()
    assert bench.asked_anew() == []
    assert (bench.bytes, os.stat(bench.out).st_mtime_ns) == before
    assert summary.nothing_to_do
    assert "nothing to do" in summary.headline


texts = st.lists(st.sampled_from([*"abcdefgh", "", "break", "refuse", "too-long"]), max_size=20)


@settings(max_examples=40, deadline=None)
@given(texts, st.data())
def test_output_and_journal_cut_anywhere_are_mended_to_the_same_file(tmp_path_factory, rows, data):
    bench = Bench(tmp_path_factory.mktemp("cut"))
    bench.rows(rows)
    bench.run()
    whole = bench.bytes
    for path in (bench.out, f"{bench.out}.journal"):
        size = os.path.getsize(path)
        os.truncate(path, data.draw(st.integers(0, size)))
    bench.run()
    assert bench.bytes == whole
    assert bench.run().asked == 0


@settings(max_examples=40, deadline=None)
@given(texts, texts)
def test_after_any_change_of_the_input_the_output_is_that_of_the_new_input(
    tmp_path_factory, old, new
):
    bench = Bench(tmp_path_factory.mktemp("changed"))
    bench.rows(old)
    bench.run()
    bench.asked_anew()
    bench.rows(new)
    bench.run()
    changed = bench.bytes
    known = {text for text in old if text != "too-long"}
    assert not known & set(bench.asked_anew())
    bench.run(fresh=True)
    assert bench.bytes == changed
    assert not os.path.exists(f"{bench.out}.partial")


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.lists(st.sampled_from("abcdefghijkl"), max_size=40))
def test_the_reorder_window_may_be_small_and_the_order_holds(tmp_path_factory, ahead, rows):
    bench = Bench(tmp_path_factory.mktemp("window"))
    bench.rows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "ROWS_AHEAD", ahead)
        bench.run()
    assert [line["value"]["shouted"] for line in bench.lines] == [row.upper() for row in rows]
    assert bench.backend.most_in_flight <= ahead


def test_an_inserted_row_is_noted_and_only_that_row_is_asked(bench):
    bench.rows(["a", "b", "c"])
    bench.run()
    bench.asked_anew()
    bench.rows(["a", "new", "b", "c"])
    summary = bench.run()
    assert bench.asked_anew() == ["new"]
    assert [line["value"]["shouted"] for line in bench.lines] == ["A", "NEW", "B", "C"]
    assert any("written anew" in note for note in summary.notes)


def test_a_rewrite_that_fails_leaves_the_old_output_as_it_was(bench):
    bench.rows(["a", "b"])
    bench.run()
    before = bench.bytes
    bench.rows(["z", "b", "bug"])
    with pytest.raises(ZeroDivisionError):
        bench.run()
    assert bench.bytes == before
    assert not os.path.exists(f"{bench.out}.partial")


def test_a_rewrite_keeps_the_files_mode_and_a_link_to_it(bench, tmp_path):
    bench.rows(["a", "b"])
    bench.run()
    os.chmod(bench.out, 0o640)
    link = str(tmp_path / "link.jsonl")
    os.symlink(bench.out, link)
    os.link(f"{bench.out}.journal", f"{link}.journal")
    bench.rows(["z"])
    bench.run(out=link)
    assert os.path.islink(link)
    assert os.stat(bench.out).st_mode & 0o777 == 0o640
    assert len(bench.lines) == 1


def test_a_bug_ends_the_job_with_its_traceback_and_keeps_what_was_answered(bench):
    bench.rows(["a", "b", "bug", "c"])
    with pytest.raises(ZeroDivisionError):
        bench.run(workers=1)
    assert [line["id"] for line in bench.lines] == ["1", "2"]
    bench.asked_anew()
    bench.rows(["a", "b", "fixed", "c"])
    bench.run()
    assert sorted(bench.asked_anew()) == ["c", "fixed"]


def test_retry_failed_asks_error_rows_only_and_rewrites(bench):
    bench.rows(["a", "dead", "b"])
    first = bench.run(retry_after_s=())
    assert first.errors == 1
    bench.asked_anew()
    assert bench.run().errors == 1  # without the flag the error stands
    assert bench.asked_anew() == []
    bench.backend = FakeBackend(delay_ms=0.2)
    bench.backend._answer = mended(bench.backend)
    summary = bench.run(retry_failed=True)
    assert bench.asked_anew() == ["dead"]
    assert (summary.retried, summary.errors, summary.asked) == (1, 0, 1)
    assert bench.lines[1]["value"] == {"shouted": "ALIVE"}
    assert bench.run().nothing_to_do


def mended(backend):
    """A fake that answers what it failed before."""
    answer = backend._answer
    return lambda text, handle: answer(text.replace("dead", "alive"), handle)


def test_retry_failed_that_fails_again_leaves_the_file_untouched(bench):
    bench.rows(["a", "dead", "b"])
    bench.run()
    before = (bench.bytes, os.stat(bench.out).st_ino)
    bench.run(retry_failed=True)
    assert (bench.bytes, os.stat(bench.out).st_ino) == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"task": ShoutTask(prompt="other")}, "task.prompt is new"),
        ({"task": ShoutTask(steps=2)}, "task.steps was 1 and is 2"),
        ({"backend": FakeBackend(model="bigger")}, 'backend.model was "fake" and is "bigger"'),
    ],
)
def test_a_changed_job_is_refused_names_the_change_and_touches_nothing(bench, change, named):
    bench.rows(["a"])
    bench.run()
    before = bench.bytes
    with pytest.raises(JournalMismatch, match=named):
        bench.run(**change)
    assert bench.bytes == before
    bench.run(**change, fresh=True)
    assert bench.run(**change).nothing_to_do


def test_an_output_of_unknown_origin_is_not_overwritten(bench):
    bench.rows(["a"])
    with open(bench.out, "w") as file:
        file.write("precious\n")
    with pytest.raises(FileError, match="no journal says") as caught:
        bench.run()
    assert "--fresh" in caught.value.hint
    assert bench.bytes == b"precious\n"
    assert not os.path.exists(f"{bench.out}.journal")


def test_an_output_in_use_is_refused(bench):
    bench.rows(["a"])
    with Journal.open(f"{bench.out}.journal", {}), pytest.raises(FileError, match="in use"):
        bench.run()


def test_limit_then_the_whole_asks_only_the_rest(bench):
    bench.rows(["a", "b", "c", "d"])
    bench.run(source=Source(paths=(bench.input,), limit=2))
    assert len(bench.lines) == 2
    assert bench.run().asked == 2
    assert [line["id"] for line in bench.lines] == ["1", "2", "3", "4"]


def test_a_sample_keeps_the_row_numbers(bench):
    bench.rows([f"row {number}" for number in range(1, 101)])
    bench.run(source=Source(paths=(bench.input,), sample=5, seed=1))
    assert len(bench.lines) == 5
    assert all(line["value"]["shouted"] == f"ROW {line['id']}" for line in bench.lines)


def test_a_missing_output_folder_is_created(bench, tmp_path):
    bench.rows(["a"])
    bench.run(out=str(tmp_path / "new" / "deep" / "out.jsonl"))
    assert (tmp_path / "new" / "deep" / "out.jsonl.journal").exists()


def test_wrong_files_are_refused_before_anything_is_asked_or_created(bench, tmp_path):
    bench.rows(["a"])
    bad_source = Source(paths=(bench.input, str(tmp_path / "missing.log")))
    with pytest.raises(FileError, match=r"missing\.log"):
        bench.run(source=bad_source)
    for out, said in [
        (str(tmp_path), "is a folder"),
        (bench.input, "both input and output"),
        (f"{bench.input}/out.jsonl", "cannot create the folder"),
    ]:
        with pytest.raises(FileError, match=said):
            bench.run(out=out)
        with pytest.raises(FileError, match=said):
            check(Source(paths=(bench.input,)), out)
    with pytest.raises(InputError, match="--workers is 0"):
        bench.run(workers=0)
    assert bench.asked_anew() == []
    assert sorted(os.listdir(tmp_path)) == ["in.log"]


def test_the_output_among_the_inputs_of_a_glob_is_refused(bench, tmp_path):
    (tmp_path / "in.jsonl").write_text('"a"\n')
    with open(bench.out, "w") as file:
        file.write("")
    with pytest.raises(FileError, match="both input and output"):
        bench.run(source=Source(paths=(f"{tmp_path}/*.jsonl",)))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_said_and_the_named_journal_keeps_the_answers(bench, tmp_path):
    bench.rows(["a", "b"])
    journal = str(tmp_path / "kept.journal")
    with pytest.raises(DiskFull, match="no room left while writing /dev/full"):
        bench.run(out="/dev/full", journal=journal)
    # The second answer may be on its way when the first one finds no room.
    assert bench.run(journal=journal).from_journal in (1, 2)


def test_progress_hears_the_end_and_is_closed(bench):
    heard = []

    class Ear:
        closed = False

        def update(self, now):
            heard.append(now)

        def close(self):
            self.closed = True

    bench.rows(["a", "break", "c"])
    ear = Ear()
    run(bench.job(), ear)
    assert (heard[-1].done, heard[-1].total, heard[-1].errors) == (3, 3, 1)
    assert ear.closed


def test_a_task_may_not_overwrite_the_keys_of_a_line(bench):
    class Greedy(ShoutTask):
        def steps(self, item, backend):
            answer = yield from super().steps(item, backend)
            return type(answer)(value=answer.value, extra={"ok": False})

    bench.rows(["a"])
    with pytest.raises(ValueError, match="extra key 'ok'"):
        bench.run(task=Greedy())


def test_integers_beyond_64_bits_are_written(bench):
    class Big(ShoutTask):
        def steps(self, item, backend):
            answer = yield from super().steps(item, backend)
            return type(answer)(value=2**70)

    bench.rows(["a"])
    bench.run(task=Big())
    assert bench.lines[0]["value"] == 2**70
