"""`vedette commit`, `pr` and `changelog` over real repositories, on a tiny random model."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from vedette.cli.main import run
from vedette.tasks.commit.change_types import default_types
from vedette.tasks.commit.diff import parse_diff
from vedette.tasks.commit.header import header_fault
from vedette.tasks.commit.names import KnownNames

TYPES = tuple(label.name for label in default_types())
IDENTITY = {
    **{f"GIT_{who}_NAME": "Ann" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ann@example.com" for who in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def vedette(tmp_path, tiny_full, capfd, monkeypatch):
    settings = {
        **IDENTITY,
        "VEDETTE_OFFLINE": "1",
        "VEDETTE_THREADS": "1",
        "VEDETTE_CONTEXT_TOKENS": "4096",
        "VEDETTE_HOME": str(tmp_path / "home"),
        "VEDETTE_MODEL": str(tiny_full),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")

    def call(*tokens: str):
        code = run([*tokens])
        out, err = capfd.readouterr()
        return code, out, err

    return call


@pytest.fixture
def repo(vedette, tmp_path):
    git("init", "--quiet", "--initial-branch=main")
    folder = tmp_path / "repo"
    (folder / "shop").mkdir()
    (folder / "shop" / "cart.py").write_text("total = 1\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "feat(shop): add the cart")
    (folder / "shop" / "cart.py").write_text("total = tax_rate\n")
    (folder / "shop" / "sum.py").write_text("".join(f"x{i} = {i}\n" for i in range(40)))
    (folder / "yarn.lock").write_text("a\n")
    git("add", ".")
    return folder


def test_what_is_staged_gets_a_message_with_a_valid_header(repo, vedette):
    code, out, err = vedette("commit")
    assert code == 0, err
    header = out.splitlines()[0]
    assert header_fault(header, TYPES) is None
    assert "(shop): " in header
    assert "not read: yarn.lock (lock file)" in err


def test_the_parts_come_as_json_and_name_only_what_the_diff_has(repo, vedette):
    code, out, err = vedette("commit", "--json", "--body", "bullets", "--max-read-tokens", "200")
    assert code == 0, err
    value = json.loads(out)
    assert value["read"]["files"] == 3
    assert value["read"]["left_out"]
    assert "left out by --max-read-tokens" in err
    known = KnownNames.of_files(parse_diff(git("diff", "--cached")))
    assert known.invented(value["subject"] + "\n" + value["body"]) == []
    assert value["message"].startswith(value["header"])


@pytest.mark.parametrize("source", ["-", "a.diff", "--rev", "--range"])
def test_a_diff_comes_from_a_file_stdin_a_commit_or_a_range(repo, vedette, monkeypatch, source):
    if source.startswith("--r"):
        git("commit", "--quiet", "-m", "second")
        tokens = [source, "HEAD" if source == "--rev" else "HEAD~1..HEAD"]
    else:
        (repo / "a.diff").write_text(git("diff", "--cached"))
        tokens = [source]
    with (repo / "a.diff").open("a+") as stream:
        stream.seek(0)
        monkeypatch.setattr("sys.stdin", stream)
        code, out, err = vedette("commit", *tokens, "--json", "--style", "plain")
    assert code == 0, err
    value = json.loads(out)
    assert (value["read"]["files"], value["type"]) == (3, None)


def test_rows_with_diffs_are_a_job(repo, vedette):
    diff = git("diff", "--cached")
    rows = [{"patch": diff}, {"patch": "no diff"}, {"patch": ""}]
    (repo / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = vedette("commit", "rows.jsonl", "--text-field", "patch")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, [line["ok"] for line in lines]) == (1, [True, False, True]), err
    assert header_fault(lines[0]["value"]["header"], TYPES) is None
    assert "is no diff" in lines[1]["error"]["message"]


def test_a_chinese_history_gets_a_chinese_message(repo, vedette):
    for subject in ("修复购物车", "添加税率", "更新文档"):
        git("commit", "--quiet", "--allow-empty", "-m", subject)
    (repo / "shop" / "cart.py").write_text("total = 3\n")
    git("add", ".")
    code, out, err = vedette("commit", "--style", "plain", "--show-prompt")
    assert (code, "Chinese" in out, "服务器不可用" in out) == (0, True, True), err
    assert "English" in vedette("commit", "--language", "en", "--show-prompt")[1]


def test_the_hook_suggests_a_message_and_never_stops_a_commit(repo, vedette, tiny_full):
    assert vedette("commit", "--hook", "install", "--style", "plain")[0] == 0
    hook = repo / ".git" / "hooks" / "prepare-commit-msg"
    assert "--style=plain" in hook.read_text()
    git("-c", "core.editor=true", "commit", "--quiet")
    assert git("log", "-1", "--format=%s").strip() not in ("", "feat(shop): add the cart")
    (repo / "b.py").write_text("b = 1\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "my own words")
    assert git("log", "-1", "--format=%B").strip() == "my own words"
    hook.write_text(hook.read_text().replace("--style=plain", "--model=/nowhere.gguf"))
    (repo / "c.py").write_text("c = 1\n")
    git("add", ".")
    write = f"{sys.executable} -c \"import sys; open(sys.argv[1], 'w').write('typed')\""
    said = git("-c", f"core.editor={write}", "commit", "--quiet")
    assert "no message was suggested" in said
    assert git("log", "-1", "--format=%s").strip() == "typed"
    assert not list((repo / ".git").glob("*.vedette"))


def test_the_hook_finds_files_that_were_named_in_a_folder(repo, vedette, monkeypatch):
    (repo / "shop" / "types.txt").write_text("fix\nfeat\n")
    monkeypatch.chdir(repo / "shop")
    assert vedette("commit", "--hook", "install", "--types", "types.txt")[0] == 0
    hook = (repo / ".git" / "hooks" / "prepare-commit-msg").read_text()
    assert f"--types={repo / 'shop' / 'types.txt'}" in hook


def test_the_hook_is_taken_away_and_others_are_left_alone(repo, vedette):
    hook = repo / ".git" / "hooks" / "prepare-commit-msg"
    assert vedette("commit", "--hook", "install")[0] == 0
    assert vedette("commit", "--hook", "uninstall")[0] == 0
    assert not hook.exists()
    code, _, err = vedette("commit", "--hook", "uninstall")
    assert (code, "has no prepare-commit-msg hook" in err) == (2, True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    for what in ("install", "uninstall"):
        code, _, err = vedette("commit", "--hook", what)
        assert (code, "prepare-commit-msg hook" in err) == (2, True)
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"


def test_a_pull_request_lists_every_file(repo, vedette):
    git("checkout", "--quiet", "-b", "side")
    git("commit", "--quiet", "-m", "second")
    code, out, err = vedette("pr")
    assert code == 0, err
    assert out.startswith("# ")
    for name in ("shop/cart.py", "shop/sum.py", "yarn.lock"):
        assert f"- {name} (" in out
    value = json.loads(vedette("pr", "--range", "main..side", "--json")[1])
    assert value["markdown"].startswith(f"# {value['title']}")


def test_a_changelog_of_conventional_commits_needs_no_model(repo, vedette, tmp_path):
    git("commit", "--quiet", "-m", "fix(shop)!: count the tax")
    git("commit", "--quiet", "--allow-empty", "-m", "docs: say so")
    code, out, err = vedette("changelog", "--model", str(tmp_path / "none.gguf"))
    first, second, _ = (line for line in reversed(git("log", "--format=%h").split()))
    assert (code, out) == (
        0,
        "## [Unreleased]\n\n### Breaking changes\n\n"
        f"- shop: count the tax ({second[:7]})\n\n"
        f"### Added\n\n- shop: add the cart ({first[:7]})\n",
    ), err
    assert "not noticed by users, not listed without --internal: 1" in err
    value = json.loads(vedette("changelog", "--title", "1.0", "--internal", "--json")[1])
    assert [section["heading"] for section in value["sections"]][-1] == "Internal"
    hashes = {name for s in value["sections"] for e in s["entries"] for name in e["commits"]}
    assert hashes == set(git("log", "--format=%H").split())


def test_other_commits_are_classified_and_can_be_reworded(repo, vedette):
    git("commit", "--quiet", "-m", "The cart knows 3 rates")
    for options in ([], ["--reword"]):
        code, out, err = vedette("changelog", *options, "--internal", "--json")
        assert code == 0, err
        value = json.loads(out)
        assert sum(len(section["entries"]) for section in value["sections"]) == 2
    rows = [{"text": "feat: x", "id": "abc"}, {"text": "The cart", "id": "def"}]
    (repo / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = vedette("changelog", "log.jsonl")
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["abc", "def"], err


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["commit", "--rev", "nowhere"], "there is no commit 'nowhere'"),
        (["commit", "--range", "HEAD"], "is no range"),
        (["commit", "--range", "HEAD..HEAD"], "the diff is empty"),
        (["commit", "a.diff", "--rev", "HEAD"], "give only one of files and --rev"),
        (["commit", "none.diff"], "cannot read the diff none.diff"),
        (["commit", "one.diff", "two.diff"], "give one diff"),
        (["commit", "--limit", "3"], "--limit is about rows"),
        (["commit", "--types", "New Thing"], "cannot be the type"),
        (["commit", "--scope", "a)b"], "cannot be a scope"),
        (["commit", "--style", "plain", "--breaking"], "a plain line has no scope"),
        (["commit", "--style", "plain", "--types", "fix,feat"], "a plain line has no type"),
        (["pr", "--types", "fix,feat"], "a plain line has no type"),
        (["commit", "--out", "."], "cannot write .: it is a folder"),
        (["changelog", "--out", "."], "cannot write .: it is a folder"),
        (["commit", "--max-read-tokens", "0"], "max_read_tokens is 0"),
        (["commit", "--language", " "], "is no name of a language"),
        (["commit", "--hook", "install", "--rev", "HEAD"], "give only one of --rev and --hook"),
        (["commit", "--hook", "install", "--json"], "do not go with --hook"),
        (["commit", "--boddy", "none"], "--body"),
        (["pr", "--range", "HEAD..HEAD"], "the diff is empty"),
        (["pr", "a.diff", "--range", "a..b"], "give only one of"),
        (["changelog", "log.txt"], "give files of rows"),
        (["changelog", "a.jsonl", "--internal"], "not about rows"),
        (["changelog", "--range", "HEAD..HEAD"], "there is no commit in the range"),
        (["changelog", "--limit", "3"], "--limit is about rows"),
        (["changelog", "--title", " "], "--title is empty"),
    ],
)
def test_a_command_that_cannot_run_says_why_in_one_line(repo, vedette, tokens, said):
    code, out, err = vedette(*tokens)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_without_a_repository_or_anything_staged_it_says_so(vedette):
    code, _, err = vedette("commit")
    assert (code, "not a git repository" in err) == (2, True)
    git("init", "--quiet")
    code, _, err = vedette("commit")
    assert (code, "nothing is staged. use git add first" in err) == (2, True)
