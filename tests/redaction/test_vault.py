"""The vault: what goes in comes out with its key only, and damage is noticed."""

from __future__ import annotations

import json
import stat

import pytest

from vedette.errors import FileError, InputError
from vedette.redaction.vault import Vault


@pytest.fixture
def path(tmp_path):
    with Vault(tmp_path / "v.vault", "right") as vault:
        vault.placeholders.of("email", "geheim@b.de", "geheim@b.de")
        vault.placeholders.of("person", "\ud800李雷", "")
        vault.save()
    return tmp_path / "v.vault"


def test_what_went_in_comes_out(path):
    with Vault(path, "right", writing=False) as vault:
        assert vault.placeholders.mapping == {
            "[EMAIL_1]": "geheim@b.de",
            "[PERSON_1]": "\ud800李雷",
        }


def test_nothing_can_be_read_without_the_key_and_only_the_owner_may_try(path):
    assert b"geheim" not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.glob("*.tmp")] == []


def test_it_goes_on_where_it_was(path):
    with Vault(path, "right") as vault:
        assert vault.placeholders.of("email", "new@b.de", "") == "[EMAIL_2]"
        vault.save()
    with Vault(path, "right") as vault:
        assert len(vault.placeholders) == 3


def test_saving_draws_a_new_nonce(path):
    before = json.loads(path.read_bytes())
    with Vault(path, "right") as vault:
        vault.placeholders.of("email", "new@b.de", "")
        vault.save()
    after = json.loads(path.read_bytes())
    assert before["salt"] == after["salt"]
    assert before["nonce"] != after["nonce"]


def test_a_wrong_key_is_said_once_and_clearly(path):
    with pytest.raises(InputError, match="the key is wrong, or the file was changed"):
        Vault(path, "wrong")
    with pytest.raises(InputError, match="empty"):
        Vault(path, "")


@pytest.mark.parametrize("name", ["format", "kdf", "salt", "nonce", "values"])
def test_any_change_is_noticed(path, name):
    body = json.loads(path.read_bytes())
    text = body[name]
    body[name] = ("A" if text[0] != "A" else "B") + text[1:]
    path.write_text(json.dumps(body))
    with pytest.raises((InputError, FileError), match=r"does not open|damaged"):
        Vault(path, "right")


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff\x00", b'{"format":"other"}'])
def test_a_file_that_is_no_vault_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(FileError, match="damaged, or no vault"):
        Vault(path, "right")


def test_a_file_cannot_ask_for_endless_work(path):
    body = json.loads(path.read_bytes())
    path.write_text(json.dumps({**body, "kdf": "scrypt-1073741824-8-1"}))
    with pytest.raises(FileError, match="damaged"):
        Vault(path, "right")


def test_two_runs_cannot_write_at_once(path):
    with Vault(path, "right"), pytest.raises(FileError, match="in use"):
        Vault(path, "right")
    Vault(path, "right").close()


def test_restoring_needs_a_vault_that_is_there(tmp_path):
    with pytest.raises(FileError, match="there is no vault"):
        Vault(tmp_path / "none", "right", writing=False)
    assert list(tmp_path.iterdir()) == []


def test_a_vault_that_cannot_be_written_is_said(path, monkeypatch):
    with Vault(path, "right") as vault:
        before = path.read_bytes()
        vault.placeholders.of("email", "new@b.de", "")
        monkeypatch.setattr("os.fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "no room")))
        with pytest.raises(FileError, match="no room"):
            vault.save()
    assert path.read_bytes() == before
    assert list(path.parent.glob("*.tmp")) == []
