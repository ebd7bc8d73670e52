"""The Chinese pages are in step with the English ones, and the check that says so can fail."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENGLISH = """\
# tool

What it is.

## Quickstart

    tool run --fast    # a minute

```python
# first
print("#1")
```

## Licence

Free.
"""
CHINESE = """\
<!--
工具 = README.md 0
快速上手 = README.md#quickstart 0
许可证 = README.md#licence 0
-->

# 工具

它是什么。[英文](README.md#quickstart)

## 快速上手

    tool run --fast    # 一分钟

```python
# 先做这个
print("#1")
```

## 许可证

自由使用。
"""


def check(root: Path, *arguments: str) -> list[str]:
    """What the check says of the pages below root, line by line."""
    done = subprocess.run(
        [sys.executable, root / "scripts" / "check_zh.py", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    told = done.stderr.splitlines()
    assert done.returncode == (1 if told else 0), done.stderr
    return told


@pytest.fixture
def root(tmp_path):
    """A small project whose Chinese page is in step."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "check_zh.py", tmp_path / "scripts")
    (tmp_path / "README.md").write_text(ENGLISH, encoding="utf-8")
    (tmp_path / "README.zh.md").write_text(CHINESE, encoding="utf-8")
    assert len(check(tmp_path)) == 3  # no hash is right yet
    assert check(tmp_path, "--update", "README.zh.md") == []
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_pages_of_this_project_are_in_step():
    assert check(ROOT) == []


@pytest.mark.parametrize(
    ("page", "old", "new", "named"),
    [
        ("README.md", "Free.", "Not free.", "README.md#licence has changed"),
        ("README.md", "What it is.", "What it was.", "README.md has changed"),
        ("README.md", "## Licence", "## Terms\n\n## Licence", "stands for README.md#terms"),
        ("README.zh.md", "--fast", "--slow", "'快速上手' has a code block"),
        ("README.zh.md", '"#1"', '"#2"', "'快速上手' has a code block"),
        ("README.zh.md", "自由使用。", "自由使用。\n\n    tool buy", "'许可证' has a code block"),
        ("README.zh.md", "## 许可证", "## 又一节\n\n## 许可证", "where '又一节' is from"),
        (
            "README.zh.md",
            "README.md#quickstart)",
            "README.md#gone)",
            "README.md#gone leads nowhere",
        ),
        ("README.zh.md", "README.md#quickstart)", "gone.md)", "gone.md leads nowhere"),
        ("README.zh.md", "## 许可证", "## 许可", "heading '许可证' is not there"),
    ],
)
def test_what_is_out_of_step_is_named(root, page, old, new, named):
    edit(root / page, old, new)
    told = check(root)
    assert all(line.startswith("README.zh.md: ") for line in told)
    assert any(named in line for line in told), told


def test_only_the_section_that_changed_is_told_and_update_settles_it(root):
    edit(root / "README.md", "Free.", "Not free.")
    assert len(check(root)) == 1
    assert check(root, "--update", "README.zh.md") == []
    assert CHINESE.split("-->")[1] in (root / "README.zh.md").read_text(encoding="utf-8")


def test_update_does_not_settle_a_code_block_that_differs(root):
    edit(root / "README.md", "--fast", "--quick")
    told = check(root, "--update", "README.zh.md")
    assert len(told) == 1
    assert "has a code block" in told[0]
