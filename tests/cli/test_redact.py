"""`vedette redact`: texts and rows, the vault, the way back, and nothing let out unchecked."""

from __future__ import annotations

import gzip
import json
import re
import stat
from typing import ClassVar

import pytest

from vedette.cli.main import run
from vedette.errors import ConstraintFailed
from vedette.types import Capabilities, Completion, Usage

TEXT = "\ufeffDear Ann,\r\ncall 030 1234567 or mail a@b.de [EMAIL_1]\n身份证11010519491231002X\n"
REDACTED = "\ufeffDear Ann,\r\ncall [PHONE_1] or mail [EMAIL_1] [TEXT_1]\n身份证[CN_ID_1]\n"


class Settled:
    """A handle whose answer is there."""

    def __init__(self, outcome: Completion | Exception) -> None:
        self.outcome = outcome

    def result(self, timeout_s=None):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def on_done(self, callback):
        callback()

    def cancel(self):
        pass


class NameBackend:
    """Says that capitalised words but the first are people; `broken` in a text fails."""

    capabilities = Capabilities(can_constrain=True, context_tokens=4096)
    identity: ClassVar[dict] = {}
    width = 2

    def count_tokens(self, text):
        return len(text.split())

    def submit(self, request):
        text = request.prompt.messages[-1].content
        if "broken" in text:
            return Settled(ConstraintFailed("it broke"))
        people = list(dict.fromkeys(re.findall(r"(?<=[ \n])[A-Z][a-z]+", text)))
        lists = {kind: [] for kind in json.loads(request.constraint.source)["required"]}
        answer = json.dumps({**lists, "person": people})
        return Settled(Completion(text=answer, finish_reason="stop", usage=Usage(prompt_tokens=7)))

    def close(self):
        pass


@pytest.fixture
def vedette(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VEDETTE_VAULT_KEY", "right")
    monkeypatch.setattr("vedette.cli.job.open_backend", lambda settings, quiet: NameBackend())
    (tmp_path / "in.txt").write_bytes(TEXT.encode())

    def call(*tokens: str):
        code = run(["redact", *tokens])
        return code, *capfd.readouterr()

    return call


def read(path):
    return path.read_bytes().decode()


def test_a_text_goes_out_and_comes_back_exactly(vedette, tmp_path):
    code, out, err = vedette("in.txt", "--vault", "v", "--out", "out.txt")
    assert (code, out) == (0, "")
    assert err == "replaced in 1 texts: 1 phone, 1 email, 1 text, 1 cn_id\n"
    assert read(tmp_path / "out.txt") == REDACTED
    (tmp_path / "new.txt").write_text("Answer to [EMAIL_1]: [TEXT_1], [CN_ID_1].")
    code, out, _ = vedette("--restore", "new.txt", "--vault", "v")
    assert (code, out) == (0, "Answer to a@b.de: [EMAIL_1], 11010519491231002X.")
    assert vedette("--restore", "out.txt", "--vault", "v", "--out", "back.txt")[0] == 0
    assert (tmp_path / "back.txt").read_bytes() == TEXT.encode()


def test_a_second_run_goes_on_with_the_numbers_of_the_vault(vedette, tmp_path):
    vedette("in.txt", "--vault", "v", "--out", "one.txt")
    (tmp_path / "two.txt").write_text("c@d.de a@b.de")
    assert vedette("two.txt", "--vault", "v", "--quiet")[1:] == ("[EMAIL_2] [EMAIL_1]", "")


def test_rows_are_result_lines_and_a_bad_row_lets_nothing_out(vedette, tmp_path):
    rows = [
        b'{"id": "a", "text": "mail a@b.de", "more": "c@d.de"}',
        b'{"id": "b"}',
        b'{"text": "\xff"}',
    ]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(rows))
    code, out, err = vedette("in.jsonl")
    first, second, third = map(json.loads, out.splitlines())
    assert code == 1
    assert "2 rows are errors" in err
    assert (first["id"], first["value"]) == ("a", "mail [EMAIL_1]")
    assert [(e["kind"], e["start"], e["end"]) for e in first["entities"]] == [("email", 5, 11)]
    assert "@" not in out
    assert (second["ok"], third["ok"], third["id"]) == (False, False, "3")


def test_rows_are_restored_as_json(vedette, tmp_path):
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": 'password: "a\\"b\\\\1"'}))
    vedette("in.jsonl", "--vault", "v", "--out", "out.jsonl")
    assert "[SECRET_1]" in read(tmp_path / "out.jsonl")
    code, out, _ = vedette("--restore", "out.jsonl", "--vault", "v")
    assert code == 0
    assert json.loads(out)["value"] == 'password: "a\\"b\\\\1"'


def test_placeholders_that_nobody_made_are_told(vedette, tmp_path):
    vedette("in.txt", "--vault", "v", "--out", "out.txt")
    (tmp_path / "new.txt").write_text("[EMAIL_1] [EMAIL_77]")
    code, out, err = vedette("--restore", "new.txt", "--vault", "v")
    assert (code, out) == (1, "a@b.de [EMAIL_77]")
    assert "[EMAIL_77]" in err


def test_what_cannot_be_decoded_is_not_let_out(vedette, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"a@b.de \xff")
    (tmp_path / "out.txt").write_text("old")
    code, out, err = vedette("bad.txt", "--out", "out.txt", "--report", "r.jsonl")
    assert (code, out) == (2, "")
    assert "byte 0xff at position 7" in err
    assert err.count("\n") == 1
    assert read(tmp_path / "out.txt") == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad.txt", "in.txt", "out.txt"]


def test_the_report_has_places_and_values_only_when_asked(vedette, tmp_path):
    vedette("in.txt", "--out", "o", "--report", "r.jsonl", "--kinds", "email")
    first, second = map(json.loads, read(tmp_path / "r.jsonl").splitlines())
    assert first == {
        "file": "in.txt", "kind": "email", "start": 37, "end": 43, "rule": "email", "score": 1.0,
        "placeholder": "[EMAIL_1]",
    }  # fmt: skip
    assert TEXT[37:43] == "a@b.de"
    assert second["kind"] == "text"
    vedette("in.txt", "--out", "o", "--report", "r.jsonl", "--report-values")
    assert '"value":"a@b.de"' in read(tmp_path / "r.jsonl")


def test_several_texts_go_into_a_folder_with_the_same_numbers(vedette, tmp_path):
    (tmp_path / "b.txt").write_text("c@d.de a@b.de")
    (tmp_path / "out").mkdir()
    assert vedette("in.txt", "b.txt", "--out", "out")[0] == 0
    assert read(tmp_path / "out" / "in.txt") == REDACTED
    assert read(tmp_path / "out" / "b.txt") == "[EMAIL_2] [EMAIL_1]"
    assert vedette("in.txt", "b.txt")[0] == 2


def test_a_packed_text_comes_out_unpacked_and_a_damaged_one_not_at_all(vedette, tmp_path):
    packed = gzip.compress(TEXT.encode())
    (tmp_path / "a.txt.gz").write_bytes(packed)
    assert vedette("a.txt.gz", "--out", "new/")[0] == 0
    assert read(tmp_path / "new" / "a.txt") == REDACTED
    (tmp_path / "a.txt.gz").write_bytes(packed[:-12])
    code, _, err = vedette("a.txt.gz", "--out", "other.txt")
    assert code == 2
    assert "cannot read a.txt.gz" in err
    assert not (tmp_path / "other.txt").exists()


def test_kinds_allowed_values_and_patterns(vedette, tmp_path):
    (tmp_path / "allow.txt").write_text("A@B.de\n")
    (tmp_path / "p.toml").write_text("[[pattern]]\nkind = 'greeting'\nregex = 'Dear'\n")
    code, out, _ = vedette(
        "in.txt", "--kinds", "email,cn_id", "--allow", "allow.txt", "--patterns", "p.toml"
    )
    assert (code, out) == (
        0,
        "\ufeff[GREETING_1] Ann,\r\ncall 030 1234567 or mail a@b.de [TEXT_1]\n身份证[CN_ID_1]\n",
    )


def test_the_model_finds_names_and_every_place_of_them_is_replaced(vedette, tmp_path):
    (tmp_path / "n.txt").write_text("Ann wrote: I am Ann, mail a@b.de. Annes is not Bob.")
    code, out, _ = vedette("n.txt", "--entities", "person")
    assert (code, out) == (
        0,
        "[PERSON_1] wrote: I am [PERSON_1], mail [EMAIL_1]. [PERSON_2] is not [PERSON_3].",
    )


def test_a_text_that_the_model_could_not_read_is_not_let_out(vedette, tmp_path):
    (tmp_path / "n.txt").write_text("the broken text of Ann")
    code, out, err = vedette("n.txt", "--names", "--out", "out.txt", "--vault", "v")
    assert (code, out) == (2, "")
    assert "it broke" in err
    assert not (tmp_path / "out.txt").exists()
    assert not (tmp_path / "v").exists()


def test_rows_that_the_model_could_not_read_are_errors_in_their_place(vedette, tmp_path):
    rows = ["x Ann", "broken Bob", None, "y Ann"]
    (tmp_path / "n.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    code, out, _ = vedette("n.jsonl", "--names")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert [line["id"] for line in lines] == ["1", "2", "3", "4"]
    assert [line.get("value") for line in lines] == ["x [PERSON_1]", None, None, "y [PERSON_1]"]
    assert lines[0]["usage"]["prompt_tokens"] == 7
    assert "Bob" not in out


def test_the_key_may_be_in_a_file(vedette, tmp_path, monkeypatch):
    monkeypatch.delenv("VEDETTE_VAULT_KEY")
    (tmp_path / "key").write_text("of a file\n")
    assert vedette("in.txt", "--vault", "v", "--vault-key", "key", "--out", "out.txt")[0] == 0
    assert stat.S_IMODE((tmp_path / "v").stat().st_mode) == 0o600
    code, _, err = vedette("--restore", "out.txt", "--vault", "v")
    assert code == 2
    assert "VEDETTE_VAULT_KEY" in err


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["in.txt", "--restore"], "--restore needs the vault"),
        (["in.txt", "--vault-key", "k"], "is for --vault"),
        (["in.txt", "--report-values"], "goes with --report"),
        (["in.txt", "--model", "m"], "--model is for"),
        (["in.txt", "--width", "2"], "--width is for"),
        (["in.txt", "--kinds", "emial"], "no kind"),
        (["in.txt", "--kinds", ","], "no kinds"),
        (["in.txt", "--regions", "XX"], "region"),
        (["in.txt", "--limit", "1"], "are for rows"),
        (["in.txt", "--out", "in.txt"], "named twice"),
        (["in.txt", "--out", "o", "--report", "o"], "named twice"),
        (["none.txt"], "none.txt"),
        (["in.txt", "--emails"], "unknown option"),
        (["in.txt", "--restore", "--vault", "v", "--kinds", "ip"], "--restore"),
        (["in.txt", "--entities", "Person"], "small letters"),
    ],
)
def test_a_command_that_cannot_run_says_why_in_one_line(vedette, tokens, said):
    code, out, err = vedette(*tokens)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_wrong_key_is_one_clear_error(vedette, monkeypatch):
    vedette("in.txt", "--vault", "v", "--out", "out.txt")
    monkeypatch.setenv("VEDETTE_VAULT_KEY", "wrong")
    code, out, err = vedette("--restore", "out.txt", "--vault", "v")
    assert (code, out) == (2, "")
    assert "the key is wrong" in err
