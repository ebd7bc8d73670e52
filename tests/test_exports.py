"""What `import vedette` offers."""

from __future__ import annotations

import subprocess
import sys

import vedette

# The public API; a name belongs here before it belongs in `vedette.__all__`.
EXPECTED = [
    "ChangelogEntry",
    "Classify",
    "Clean",
    "Commit",
    "Compress",
    "Decide",
    "Duplicate",
    "Engine",
    "Extract",
    "Guard",
    "Metadata",
    "PullRequest",
    "Rerank",
    "Rewrite",
    "Route",
    "Sentiment",
    "Summarise",
    "Tag",
    "Triage",
    "aclassify",
    "aextract",
    "aguard",
    "amap",
    "ask",
    "changelog",
    "classify",
    "clean",
    "commit",
    "compress",
    "dedupe",
    "extract",
    "guard",
    "map",
    "metadata",
    "pull_request",
    "redact",
    "rerank",
    "restore",
    "rewrite",
    "route",
    "sentiment",
    "summarise",
    "tag",
    "triage",
]


def test_all_is_the_public_api_in_sorted_order():
    assert sorted(EXPECTED) == list(vedette.__all__)


def test_every_public_name_is_there_and_documented():
    undocumented = [name for name in vedette.__all__ if not getattr(vedette, name).__doc__]
    assert undocumented == []


def test_importing_the_package_loads_no_engine():
    code = "import sys, vedette; print('llama_cpp' in sys.modules, 'numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]


def test_redacting_by_rules_loads_no_engine():
    code = (
        "import sys, vedette; print(vedette.redact('mail a@b.de').text);"
        "print([m for m in ('llama_cpp', 'llguidance', 'numpy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines() == ["mail [EMAIL_1]", "[]"]
