"""Hold the Chinese pages against the English text that they stand for.

A Chinese page begins with a comment: one line for each section, `HEADING = PAGE#SECTION HASH`,
without `#SECTION` for what stands before the English page's first section. `--update PAGE...`
writes the hashes of those pages anew: run it once the translation says what the English now says.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ENTRY = re.compile(r"^(?P<part>\S.*) = (?P<source>\S+) (?P<hash>\w+)$", re.MULTILINE)
HEADING = re.compile(r"^(#+) (.+)$")
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMENT = re.compile(r"(^|\s+)#(\s.*)?$")


class Section(NamedTuple):
    """What stands from one heading to the next."""

    title: str
    level: int
    text: str
    blocks: list[str]


def sections(page: Path) -> list[Section]:
    """A page cut at its headings, none if there is no page; `#` in a fenced block is no heading."""
    found: list[tuple[str, int, list[str]]] = []
    fenced = False
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        heading = None if fenced else HEADING.match(line)
        if heading:
            found.append((heading[2], len(heading[1]), []))
        elif found:
            found[-1][2].append(line)
    return [
        Section(title, level, "\n".join(lines).strip(), code_blocks(lines))
        for title, level, lines in found
    ]


def code_blocks(lines: list[str]) -> list[str]:
    """The code blocks among these lines, fenced or indented by four spaces, without comments."""
    blocks: list[list[str]] = []
    fenced = inside = False
    for line in lines:
        fence = line.startswith("```")
        if fence and not fenced:
            blocks.append([])
        indented = not fenced and line.startswith("    ")
        if indented and not inside:
            blocks.append([])
        inside = indented or (inside and not line)  # a blank line does not end an indented block
        if indented or inside or fenced or fence:
            blocks[-1].append(COMMENT.sub("", line))
        fenced ^= fence
    return ["\n".join(block).strip("\n") for block in blocks]


def slug(title: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def english(source: str) -> Section | None:
    """The section that a page's comment names, if it is there."""
    path, _, anchor = source.partition("#")
    parts = sections(ROOT / path)
    return next((part for part in parts if not anchor or slug(part.title) == anchor), None)


def digest(section: Section) -> str:
    """Ten hexadecimal digits that change when the section's text does."""
    return hashlib.sha256(f"{section.title}\n{section.text}".encode()).hexdigest()[:10]


def faults(page: Path) -> list[str]:
    """One sentence for each way in which a page is out of step."""
    name, text = page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8")
    parts = {part.title: part for part in sections(page)}
    allowed: dict[str, set[str]] = {}
    told = []
    for part, source, written in ENTRY.findall(text.split("-->")[0]):
        origin = english(source)
        if part not in parts or origin is None:
            missing = source if part in parts else f"the heading {part!r}"
            told.append(f"{name}: {missing} is not there, but the comment at the top names it.")
            continue
        allowed.setdefault(part, set()).update(origin.blocks)
        if digest(origin) != written:
            told.append(f"{name}: {source} has changed; mend {part!r}, then --update {name}.")
    for part in parts.values():
        if part.level > 1 and part.title not in allowed:
            told.append(f"{name}: its first comment does not say where {part.title!r} is from.")
        elif set(part.blocks) - allowed.get(part.title, set()):
            told.append(f"{name}: {part.title!r} has a code block that its English does not have.")
    if name == "README.zh.md":
        for part in sections(ROOT / "README.md")[1:]:
            if f" = README.md#{slug(part.title)} " not in text:
                told.append(f"{name}: nothing stands for README.md#{slug(part.title)}.")
    return told + dead_links(page, name, text)


def dead_links(page: Path, name: str, text: str) -> list[str]:
    """One sentence for each link of a page to a file or heading that is not there."""
    told = []
    for target in LINK.findall(text):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if "://" in target or (file.exists() and not anchor):
            continue
        if anchor not in [slug(part.title) for part in sections(file)]:
            told.append(f"{name}: the link {target} leads nowhere.")
    return told


def update(page: Path) -> None:
    """Write the hashes in a page's comment anew."""

    def renewed(entry: re.Match[str]) -> str:
        origin = english(entry["source"])
        return f"{entry['part']} = {entry['source']} {digest(origin) if origin else entry['hash']}"

    head, mark, rest = page.read_text(encoding="utf-8").partition("-->")
    page.write_text(ENTRY.sub(renewed, head) + mark + rest, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Check every Chinese page; with `--update PAGE...` write the hashes of these first."""
    if arguments[:1] == ["--update"]:
        for name in arguments[1:]:
            update(ROOT / name)
    pages = [ROOT / "README.zh.md", *sorted(ROOT.glob("docs/zh/*.md"))]
    told = [line for page in pages for line in faults(page)]
    for line in told:
        print(line, file=sys.stderr)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
