"""Commit messages: the header's grammar, names held to the diff, what is read and what is not."""

from __future__ import annotations

import pytest
from change_diffs import CART, LARGE, diff_of
from scripted import WordBackend, completion, run_by_hand, scores, user_text

from vedette.errors import CapabilityMissing, InputError, LabelError
from vedette.tasks.commit.change_types import default_types, sure_type
from vedette.tasks.commit.diff import parse_diff
from vedette.tasks.commit.header import header_fault
from vedette.tasks.commit.language import language_of
from vedette.tasks.commit.message import WriteCommit
from vedette.tasks.commit.names import KnownNames
from vedette.tasks.commit.wording import Wording
from vedette.tasks.labels import Label
from vedette.types import Request

NAMES = tuple(label.name for label in default_types())


def respond_with(*texts, best=0):
    """Answers lines in turn (the last one again and again), and scores for one choice."""
    left = list(texts)

    def respond(ask):
        if isinstance(ask, Request):
            return completion(left.pop(0) if len(left) > 1 else left[0])
        says_nothing = ask.prompt.messages[-3].content in ("[MASK]", "N/A")
        chosen = None if says_nothing else best
        return scores(*(0.0 if i == chosen else -5.0 for i in range(len(ask.choices))))

    return respond


def write(diff, *texts, best=0, body="auto", **wording):
    task = WriteCommit(Wording(**wording), body)
    answer, asked = run_by_hand(task, diff, respond_with(*texts, best=best))
    return answer.value, asked


def test_a_small_change_is_one_line_and_one_score():
    value, asked = write(CART, "Use the tax rate in the total")
    assert value["message"] == value["header"] == "feat(shop): use the tax rate in the total"
    assert (value["type"], value["scope"], value["breaking"]) == ("feat", "shop", False)
    assert (value["type_by"], value["body"], value["changes"]) == ("score", "", [])
    assert sum(value["probabilities"].values()) == pytest.approx(1, abs=0.01)
    assert [len(step) for step in asked] == [1, 3]
    assert "+    total = tax_rate * 2" in user_text(asked[0][0])


def test_only_types_that_the_files_and_the_line_allow_are_asked_about():
    _, asked = write(CART, "Use the tax rate")
    assert asked[1][0].choices == ("feat", "fix", "refactor", "perf")
    _, asked = write(CART, "Mend the tax rate")
    assert asked[1][0].choices == ("feat", "fix", "refactor", "perf", "chore")
    value, asked = write(CART, "Rename the total")
    assert (value["type"], value["type_by"], len(asked)) == ("refactor", "line", 1)


@pytest.mark.parametrize(
    ("paths", "kind"),
    [
        (["docs/a.md", "README.md"], "docs"),
        (["tests/test_a.py"], "test"),
        ([".github/workflows/a.yml"], "ci"),
        (["pyproject.toml", "uv.lock"], "build"),
        (["tests/test_a.py", "docs/a.md"], None),
        (["src/a.py"], None),
    ],
)
def test_files_of_one_kind_leave_no_doubt(paths, kind):
    files = parse_diff("".join(map(diff_of, paths)))
    assert sure_type(files, NAMES) == kind
    assert sure_type(files, ("feat", "fix")) is None


def test_a_scope_that_says_no_more_than_the_type_is_left_out():
    assert write(diff_of("docs/a.md"), "Explain it all")[0]["header"] == "docs: explain it all"
    assert write(diff_of("tests/a.py"), "Cover it all")[0]["header"] == "test: cover it all"
    given = write(diff_of("docs/a.md"), "Explain it all", scope="docs")[0]
    assert given["header"] == "docs(docs): explain it all"


def test_what_the_model_prefers_anyway_is_divided_out():
    task = WriteCommit(Wording(scope="none"), "none")

    def respond(ask):
        if isinstance(ask, Request):
            return completion("Use the tax rate")
        nothing = ask.prompt.messages[-3].content in ("[MASK]", "N/A")
        liked = {"feat": -0.1, "fix": -2.0 if nothing else -0.5}
        return scores(*(liked.get(name, -9.0) for name in ask.choices))

    answer, asked = run_by_hand(task, CART, respond)
    assert answer.value["type"] == "fix"
    again, asked = run_by_hand(task, CART, respond)
    assert again.value["header"] == "fix: use the tax rate"
    assert len(asked[1]) == 3  # another backend: its prior is its own


def test_a_large_change_is_read_in_parts_that_become_its_body():
    value, asked = write(LARGE, "Count the cart", "Keep the queue", "Test the tax", "Mend the shop")
    assert [len(step) for step in asked] == [3, 1, 3]
    assert value["body"] == "- Count the cart\n- Keep the queue\n- Test the tax"
    assert value["message"] == f"{value['header']}\n\n{value['body']}"
    final = user_text(asked[1][0])
    assert "lib/shop/cart.py (modified, +150 -0)" in final
    assert "+def test_tax():" in final
    assert "yarn.lock (lock file)" in final
    assert value["read"]["unread"] == [{"path": "yarn.lock", "why": "lock file"}]


def test_without_a_body_a_large_change_is_read_once():
    value, asked = write(LARGE, "Count the cart", body="none")
    assert [len(step) for step in asked] == [1, 3]
    assert value["message"] == value["header"]


def test_a_change_log_is_shown_before_the_lines_that_it_is_about():
    log = diff_of("CHANGELOG.md", ["+- The total has its tax."])
    _, asked = write(CART + log, "Use the tax rate")
    shown = user_text(asked[0][0])
    assert shown.index("The total has its tax") < shown.index("tax_rate")


def test_a_body_can_be_left_out_or_asked_for():
    assert write(LARGE, "Count the cart", body="none")[0]["body"] == ""
    value, _ = write(CART, "Use the tax rate", "Count the total", body="bullets")
    assert value["body"] == "- Use the tax rate"
    assert value["subject"] == "count the total"
    same, _ = write(CART, "Use the tax rate", body="bullets")
    assert (same["body"], len(same["changes"])) == ("", 1)


def test_what_the_budget_leaves_out_is_counted():
    value, _ = write(LARGE, "Count the cart", max_read_tokens=300)
    left = {entry["path"]: entry["lines"] for entry in value["read"]["left_out"]}
    assert left.keys() >= {"lib/shop/cart.py", "lib/mail/queue.py"}
    assert all(100 < left[path] < 150 for path in ("lib/shop/cart.py", "lib/mail/queue.py"))


def test_a_line_with_an_invented_name_is_asked_for_again_without_it():
    value, asked = write(CART, "Use rates.json in the total", "Use the tax rate")
    assert value["subject"] == "use the tax rate"
    assert "asked again without rates.json" in value["changes"][0]
    first, second = asked[0][0].constraint.source, asked[1][0].constraint.source
    assert "rates" not in first
    assert r"rates\.json" in second


def test_a_line_that_repeats_an_example_is_asked_for_again_without_it():
    value, asked = write(CART, "Write reports as CSV files", "Use the tax rate")
    assert value["subject"] == "use the tax rate"
    assert value["changes"] == ["subject: asked again, as it repeated an example"]
    assert r"Write\ report" in asked[1][0].constraint.source
    diff = diff_of("src/a.py", ["+# write reports as CSV files"])
    assert write(diff, "Write reports as CSV files")[0]["changes"] == []


def test_a_whole_example_is_a_repetition_however_short():
    value, _ = write(CART, "将含税价格四舍五入到分", "在总价中使用税率", language=language_of("zh"))
    assert value["subject"] == "在总价中使用税率"
    assert value["changes"] == ["subject: asked again, as it repeated an example"]


def test_a_subject_that_cannot_be_had_without_invented_names_counts_files():
    value, asked = write(CART, "Use rates.json and rates_v2.json")
    assert [len(step) for step in asked] == [1, 1, 1, 3]
    assert value["subject"] == "change 1 file"
    assert value["changes"][-1] == "subject: it only counts files"


def test_a_line_of_the_body_that_keeps_its_invented_name_is_dropped_and_told():
    def respond(ask):
        if not isinstance(ask, Request):
            return scores(*[-1.0] * len(ask.choices))
        is_mail = "lib/mail/queue.py" in user_text(ask)
        return completion("Read other.py" if is_mail else f"Use {user_text(ask).split('/')[1]}")

    answer, _ = run_by_hand(WriteCommit(), LARGE, respond)
    assert "other" not in answer.value["message"]
    assert any("a line was dropped" in change for change in answer.value["changes"])


@pytest.mark.parametrize("scope", ["auto", "none", "a-long-name-of-a-scope"])
@pytest.mark.parametrize("breaking", [True, False])
def test_a_header_is_valid_however_long_the_line_is(scope, breaking):
    long = (
        "Use the tax rate of the country in which the user of the cart lives, and of no other " * 3
    )
    value, _ = write(CART, long, best=2, scope=scope, breaking=breaking)
    assert header_fault(value["header"], NAMES) is None
    assert ("!" in value["header"]) == breaking
    assert "shortened" in value["changes"][0]


def test_a_line_that_was_cut_is_shortened_to_a_clause():
    cut = completion("Use the tax rate in the total of the ca")
    cut = type(cut)(text=cut.text, finish_reason="length", usage=cut.usage)
    task = WriteCommit(Wording(style="plain"), "none")
    answer, _ = run_by_hand(task, CART, lambda ask: cut)
    assert answer.value["header"] == "Use the tax rate"


def test_a_plain_line_has_no_type_and_a_capital():
    value, asked = write(CART, "use the tax rate.", style="plain")
    assert (value["message"], value["type"], len(asked)) == ("Use the tax rate", None, 1)
    assert write(CART, "tax_rate is used", style="plain")[0]["message"] == "tax_rate is used"


def test_types_language_and_instructions_are_the_callers():
    types = (Label("new", "adds"), Label("old", "keeps"))
    wording = {"types": types, "language": language_of("zh"), "instructions": "Be brief."}
    value, asked = write(CART, "使用税率", best=1, **wording)
    assert value["header"] == "old(shop): 使用税率"
    system = asked[0][0].prompt.messages[0].content
    assert "Chinese" in system
    assert system.endswith("Be brief.")
    assert "服务器" in asked[0][0].prompt.messages[2].content
    polish, asked = write(CART, "Użyj stawki", language=language_of("Polish"))
    assert (polish["subject"], len(asked[0][0].prompt.messages)) == ("użyj stawki", 2)


def test_only_lock_files_are_named_without_being_read():
    value, asked = write(diff_of("uv.lock", ["+a"] * 9), "Bump the locked versions")
    assert value["header"] == "build: bump the locked versions"
    assert user_text(asked[0][0]) == "Files that are not shown:\nuv.lock (lock file)"


def test_the_answer_to_nothing_is_nothing_and_to_no_diff_an_error():
    answer, asked = run_by_hand(WriteCommit(), " \n", respond_with("x"))
    assert (answer.value, answer.extra, asked) == (None, {"empty": True}, [])
    with pytest.raises(InputError, match="no diff"):
        run_by_hand(WriteCommit(), "hello", respond_with("x"))


def test_what_cannot_be_used_is_refused():
    with pytest.raises(LabelError, match="cannot be the type"):
        Wording(types=(Label("New Thing"),))
    with pytest.raises(LabelError, match="duplicates"):
        Wording(types=(Label("a"), Label("a")))
    with pytest.raises(InputError, match="cannot be a scope"):
        Wording(scope="a)b")
    with pytest.raises(InputError, match="leaves no room"):
        Wording(scope="x" * 60)
    with pytest.raises(InputError, match="plain line"):
        Wording(style="plain", breaking=True)
    with pytest.raises(InputError, match="max_read_tokens is 0"):
        Wording(max_read_tokens=0)
    with pytest.raises(CapabilityMissing):
        run_by_hand(WriteCommit(), CART, respond_with("x"), WordBackend(can_score=False))


def test_the_identity_says_what_the_message_depends_on():
    identities = [
        WriteCommit(Wording(**options), body).identity
        for options, body in [
            ({}, "auto"),
            ({}, "none"),
            ({"style": "plain"}, "auto"),
            ({"scope": "x"}, "auto"),
            ({"language": language_of("zh")}, "auto"),
            ({"max_read_tokens": 9}, "auto"),
            ({"instructions": "x"}, "auto"),
            ({"breaking": True}, "auto"),
            ({"known_scopes": ("x",)}, "auto"),
        ]
    ]
    assert all(a != b for i, a in enumerate(identities) for b in identities[:i])


def test_no_message_names_what_the_diff_does_not_have():
    known = KnownNames.of_files(parse_diff(LARGE))
    for line in ("Read a.py", "Use `b c`", "Call total()", "Fix #3", "Use the cart"):
        value, _ = write(LARGE, line)
        assert known.invented(value["message"].replace(value["header"], value["subject"])) == []
