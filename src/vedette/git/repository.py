"""A repository: what is staged, what lies between two commits, what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vedette.errors import InputError

from .call import git

_DIFF = (
    "--patch",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    "--unified=3",
    "--inter-hunk-context=0",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--ita-invisible-in-index",
)
_MAIN = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the history: full hash, first line, what follows it."""

    hash: str
    subject: str
    body: str

    @property
    def message(self) -> str:
        """All of it."""
        return f"{self.subject}\n\n{self.body}" if self.body else self.subject


@dataclass(frozen=True, slots=True)
class Span:
    """Two ends of a history: `A..B`, or `A...B` from where they part."""

    start: str | None
    end: str
    from_fork: bool = False


class Repository:
    """The repository that a folder belongs to. Raises `InputError` where there is none."""

    def __init__(self, folder: Path | str = ".") -> None:
        self.folder = Path(folder)
        top = git(self.folder, "rev-parse", "--show-toplevel").rstrip("\n")
        if not top:
            raise InputError("this is a bare repository: it has no working tree")
        self.top = Path(top)

    def staged(self) -> str:
        """The diff of the index against the last commit; empty where nothing is staged."""
        return git(self.top, "diff", "--cached", *_DIFF, "--")

    def of_commit(self, revision: str) -> str:
        """The diff of one commit; of a merge, against its first parent."""
        name = self.commit_hash(revision)
        return git(self.top, "show", "--format=", "--diff-merges=first-parent", *_DIFF, name, "--")

    def between(self, span: Span) -> str:
        """The diff over a span."""
        start = span.start or self._empty_tree()
        if span.start and span.from_fork:
            start = self.fork(span.start, span.end)
        return git(self.top, "diff", *_DIFF, start, span.end, "--")

    def span(self, text: str) -> Span:
        """`A..B` or `A...B`; an end that is left out is HEAD. Raises `InputError`."""
        dots = "..." if "..." in text else ".."
        start, found, end = text.partition(dots)
        if not found or ".." in end:
            raise InputError(f"{text!r} is no range", hint="write it as A..B or A...B")
        return Span(
            self.commit_hash(start or "HEAD"), self.commit_hash(end or "HEAD"), dots == "..."
        )

    def since_last_tag(self) -> Span:
        """From the last tag before HEAD (from the beginning, if there is none) to HEAD."""
        head = self.commit_hash("HEAD")
        tags = git(self.top, "tag", "--merged", head, "--sort=-creatordate").split()
        if not tags:
            return Span(None, head)
        nearest = git(self.top, "describe", "--tags", "--abbrev=0", head).rstrip("\n")
        return Span(self.commit_hash(f"refs/tags/{nearest}"), head)

    def since_main(self) -> Span:
        """From where HEAD parted from the main branch. Raises `InputError` where none is known."""
        head = self.commit_hash("HEAD")
        for name in _MAIN:
            if found := self._verified(name):
                return Span(found, head, from_fork=True)
        raise InputError("no main branch was found", hint="give --range, such as main...HEAD")

    def fork(self, one: str, other: str) -> str:
        """The last commit that both have."""
        found = git(self.top, "merge-base", one, other, missing="").strip()
        if not found:
            raise InputError("the two ends of the range have no common history")
        return found

    def commits(self, span: Span) -> tuple[tuple[Commit, ...], int]:
        """The commits of a span, newest first, without merges; and how many merges there are."""
        start = self.fork(span.start, span.end) if span.start and span.from_fork else span.start
        revisions = [f"{start}..{span.end}"] if start else [span.end]
        text = git(self.top, "log", "--no-merges", "-z", "--format=%H%n%B", *revisions, "--")
        merges = git(self.top, "rev-list", "--count", "--merges", *revisions, "--")
        return tuple(_commit(entry) for entry in text.split("\0") if entry), int(merges)

    def recent_subjects(self, count: int = 10) -> tuple[str, ...]:
        """The first lines of the last commits; none in a new repository."""
        if self._verified("HEAD") is None:
            return ()
        log = ("log", "--no-merges", f"--max-count={count}", "--format=%s", "HEAD", "--")
        return tuple(git(self.top, *log).splitlines())

    def commit_hash(self, revision: str) -> str:
        """The full hash of a commit. Raises `InputError` for what is none."""
        found = self._verified(revision)
        if found is None:
            raise InputError(f"there is no commit {revision!r} in this repository")
        return found

    def _verified(self, revision: str) -> str | None:
        arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options")
        found = git(self.top, *arguments, f"{revision}^{{commit}}", missing="").strip()
        return found or None

    def _empty_tree(self) -> str:
        return git(self.top, "hash-object", "-t", "tree", "--stdin").strip()

    def hook_path(self, name: str) -> Path:
        """Where git looks for a hook."""
        return self.top / git(self.top, "rev-parse", "--git-path", f"hooks/{name}").rstrip("\n")


def _commit(entry: str) -> Commit:
    name, _, message = entry.partition("\n")
    subject, _, body = message.strip().partition("\n")
    return Commit(name, subject.strip(), body.strip())
