"""Pages of reports: whether they can be written is found out before the work."""

from __future__ import annotations

import pytest

from vedette.cli.main import run


@pytest.mark.parametrize(("path", "why"), [("/dev/null", "it is no file"), (".", "it is no file")])
@pytest.mark.parametrize(
    "verb",
    [
        ("eval", "classify", "--data", "none"),
        ("eval", "decide", "--data", "none"),
        ("spec", "bench"),
        ("tune",),
        ("context",),
    ],
)
def test_a_page_that_cannot_be_written_is_told_before_the_work(verb, path, why, capsys):
    assert run([*verb, "--html", path]) == 2
    err = capsys.readouterr().err
    assert f"cannot write {path}: " in err
    assert why in err
