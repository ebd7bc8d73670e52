"""What git says of a real repository, whatever the user's settings are."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from git_helpers import IDENTITY, TestRepository

from vedette.errors import InputError
from vedette.git.repository import Repository
from vedette.tasks.commit.diff import parse_diff


@pytest.fixture
def repo(tmp_path, monkeypatch):
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    return TestRepository(tmp_path / "repo")


def files(text):
    return {file.path: file for file in parse_diff(text)}


def test_what_is_staged_is_read_with_renames_binaries_and_odd_names(repo):
    repo.write("old.py", "".join(f"line {i}\n" for i in range(20)))
    repo.write("gone.py", "x\n")
    repo.commit("first")
    repo.git("mv", "old.py", "new.py")
    repo.git("rm", "--quiet", "gone.py")
    repo.write("a.png", b"\x89PNG\x00\x01")
    repo.write('名 "x"\t.txt', "hello\n")
    repo.write("empty", "")
    (repo.folder / "new.py").write_text("not staged")
    found = files(Repository(repo.folder).staged())
    assert found["new.py"].status == "renamed"
    assert found["new.py"].old_path == "old.py"
    assert found["new.py"].hunks == ()
    assert (found["gone.py"].status, found["gone.py"].removed) == ("deleted", 1)
    assert found["a.png"].is_binary
    assert found['名 "x"\t.txt'].added == 1
    assert found["empty"].status == "added"


def test_the_users_settings_change_nothing(repo, monkeypatch):
    repo.write("src/a.py", "a\n")
    repo.commit("first")
    repo.write("src/a.py", "b\n")
    plain = Repository(repo.folder).staged()
    for key, value in {
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "diff.external": "false",
        "color.ui": "always",
        "core.pager": "false",
        "core.quotePath": "true",
        "diff.context": "0",
        "diff.interHunkContext": "9",
        "diff.relative": "true",
    }.items():
        repo.git("config", key, value)
    monkeypatch.setenv("GIT_PAGER", "false")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert Repository(repo.folder / "src").staged() == plain


def test_a_large_file_is_binary_to_git(repo):
    repo.write("big.sql", "insert into t values (1);\n" * 300_000)
    text = Repository(repo.folder).staged()
    assert len(text) < 1000
    assert files(text)["big.sql"].is_binary


def test_a_submodule_is_told_as_such(repo, tmp_path):
    inner = TestRepository(tmp_path / "inner")
    inner.commit("inner")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(inner.folder))
    assert files(Repository(repo.folder).staged())["inner"].is_submodule


def test_commits_ranges_and_the_first_commit_have_their_diffs(repo):
    repo.write("a.py", "a\n")
    first = repo.commit("first")
    repo.git("checkout", "--quiet", "-b", "side")
    repo.write("b.py", "b\n")
    repo.commit("second")
    repo.git("checkout", "--quiet", "main")
    repo.write("c.py", "c\n")
    repo.commit("third")
    repo.git("merge", "--quiet", "--no-edit", "side")
    here = Repository(repo.folder)
    assert files(here.of_commit(first)).keys() == {"a.py"}
    assert files(here.of_commit("HEAD")).keys() == {"b.py"}
    assert files(here.between(here.span(f"{first}..HEAD"))).keys() == {"b.py", "c.py"}
    assert files(here.between(here.span("HEAD^1...side"))).keys() == {"b.py"}
    assert files(here.between(here.span("side..HEAD^1"))).keys() == {"b.py", "c.py"}
    commits, merges = here.commits(here.span(f"{first}.."))
    assert ({commit.subject for commit in commits}, merges) == ({"second", "third"}, 1)


def test_commits_since_the_last_tag_or_from_the_beginning(repo):
    repo.commit("first\n\nWords\nover lines.\n\nBREAKING CHANGE: x")
    here = Repository(repo.folder)
    ((commit,), _) = here.commits(here.since_last_tag())
    assert (commit.subject, commit.body.splitlines()[-1]) == ("first", "BREAKING CHANGE: x")
    repo.git("tag", "v1")
    repo.commit("second")
    assert [c.subject for c in here.commits(here.since_last_tag())[0]] == ["second"]
    assert here.recent_subjects() == ("second", "first")


def test_the_main_branch_is_found(repo):
    repo.write("a.py", "a\n")
    repo.commit("first")
    repo.git("checkout", "--quiet", "-b", "side")
    repo.write("b.py", "b\n")
    repo.commit("second")
    here = Repository(repo.folder)
    assert files(here.between(here.since_main())).keys() == {"b.py"}
    repo.git("branch", "-D", "main")
    with pytest.raises(InputError, match="no main branch"):
        here.since_main()


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "-p", "HEAD:a.py", ""])
def test_what_is_no_commit_is_refused_in_a_sentence(repo, revision):
    repo.commit("first")
    with pytest.raises(InputError, match="there is no commit"):
        Repository(repo.folder).of_commit(revision)
    assert not (repo.folder / "x").exists()


@pytest.mark.parametrize("text", ["HEAD", "a..b..c", "a....b"])
def test_what_is_no_range_is_refused(repo, text):
    repo.commit("first")
    with pytest.raises(InputError, match=r"is no range|there is no commit"):
        Repository(repo.folder).span(text)


def test_a_new_repository_has_no_subjects_and_all_is_staged(repo):
    repo.write("a.py", "a\n")
    here = Repository(repo.folder)
    assert here.recent_subjects() == ()
    assert files(here.staged())["a.py"].status == "added"


def test_git_is_asked_for_and_its_errors_are_passed_on(repo, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"git rev-parse: not a git repository"):
        Repository(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        Repository(tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="git was not found"):
        Repository(repo.folder)


def test_no_shell_sees_what_the_user_gives(repo):
    repo.commit("first")
    with pytest.raises(InputError):
        Repository(repo.folder).span("HEAD..$(touch x)")
    with pytest.raises(InputError):
        Repository(repo.folder).of_commit("HEAD; touch x")
    assert not (repo.folder / "x").exists()


def test_reading_leaves_the_repository_as_it_is(repo):
    repo.write("a.py", "a\n")
    repo.commit("first")
    before = {path: path.stat().st_mtime_ns for path in (repo.folder / ".git").rglob("*")}
    code = (
        f"from vedette.git.repository import Repository; Repository({str(repo.folder)!r}).staged()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})
    after = {path: path.stat().st_mtime_ns for path in (repo.folder / ".git").rglob("*")}
    assert after == before
