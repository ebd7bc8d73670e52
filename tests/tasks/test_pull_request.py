"""Pull requests: a line for each area, files and tests as the diff has them, nothing else."""

from __future__ import annotations

from change_diffs import CART, LARGE, diff_of
from scripted import completion, run_by_hand, scores, user_text

from vedette.tasks.commit.diff import parse_diff
from vedette.tasks.commit.names import KnownNames
from vedette.tasks.commit.pull_request import WritePullRequest
from vedette.tasks.commit.wording import Wording
from vedette.types import Request

WORDS = {"lib/shop": "Count the cart", "lib/mail": "Keep the queue", "tests/": "Test the tax"}


def respond(ask):
    if not isinstance(ask, Request):
        return scores(*[-1.0] * len(ask.choices))
    text = user_text(ask)
    fitting = [line for start, line in WORDS.items() if text.startswith(start)]
    return completion(fitting[0] if fitting else "Count the cart and the queue")


def write(diff, answer=respond, **wording):
    task = WritePullRequest(Wording(**{"style": "plain", **wording}))
    return run_by_hand(task, diff, answer)[0].value


def test_each_area_has_its_line_its_files_and_their_counts():
    value = write(LARGE)
    assert value["title"] == "Count the cart and the queue"
    lines = {entry["areas"][0]: entry["text"] for entry in value["summary"]}
    assert lines == {"shop": "Count the cart", "mail": "Keep the queue", "tests": "Test the tax"}
    areas = {area["area"]: area["files"] for area in value["files"]}
    assert areas.keys() == {"shop", "mail", "tests", "root"}
    assert areas["shop"][0]["headline"] == "lib/shop/cart.py (modified, +150 -0)"
    assert (areas["tests"][0]["added"], areas["tests"][0]["removed"]) == (2, 1)


def test_the_markdown_has_every_file_and_says_which_were_not_read():
    text = write(LARGE)["markdown"]
    assert text.startswith("# Count the cart and the queue\n\n## Summary\n\n- **mail**: Keep")
    for file in parse_diff(LARGE):
        assert f"- {file.path} (" in text
    assert "- yarn.lock (modified, +50 -0); not read: lock file" in text
    assert "- tests/test_cart.py (modified): added test_tax; removed test_old" in text


def test_tests_are_named_as_they_are_written_in_several_languages():
    diff = (
        diff_of("a_test.go", ["+func TestSum(t *testing.T) {", " func TestOld(t *testing.T) {"])
        + diff_of("x.test.ts", ["+  it('adds rates', () => {", "-  test(`is old`, () => {"])
        + diff_of("tests/t.rs", ["+fn test_sum() {"])
        + diff_of("src/a.py", ["+def test_not_a_test_file():"])
    )
    tests = {entry["path"]: (entry["added"], entry["removed"]) for entry in write(diff)["tests"]}
    assert tests == {
        "a_test.go": (["TestSum"], []),
        "x.test.ts": (["adds rates"], ["is old"]),
        "tests/t.rs": (["test_sum"], []),
    }


def test_a_change_without_tests_has_no_test_notes():
    value = write(CART)
    assert value["tests"] == []
    assert "## Tests" not in value["markdown"]


def test_where_no_line_can_be_had_without_invented_names_the_files_stand():
    value = write(LARGE, lambda ask: completion("Read other.py"))
    assert value["summary"][0]["text"].startswith("lib/")
    assert value["title"] == "Change 4 files"
    assert "other.py" not in value["markdown"]
    assert KnownNames.of_files(parse_diff(LARGE)).invented(value["markdown"]) == []
    assert any("the files instead of words" in change for change in value["changes"])


def test_a_conventional_title_has_its_type():
    value = write(LARGE, style="conventional")
    assert value["title"].startswith(f"{value['type']}: count the cart")
