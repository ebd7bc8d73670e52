"""What counts tokens without answering: a GGUF's vocabulary, or a tokenizer.json file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from vedette.engine.llama.vocabulary_file import VocabularyFile
from vedette.errors import CapabilityMissing, FileError
from vedette.models.fingerprint import file_sha256
from vedette.models.locate import locate
from vedette.types import Json

if TYPE_CHECKING:
    from tokenizers import Tokenizer as HubTokenizer


class TokenCounter(Protocol):
    """Counts the tokens of texts. Safe from any thread."""

    @property
    def identity(self) -> dict[str, Json]:
        """What the counts depend on."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a plain text, without anything that a chat template puts around it."""
        ...


def open_tokenizer(name: str) -> TokenCounter:
    """The tokenizer of a model on this machine, or of a Hugging Face `tokenizer.json`.

    `name` is a path that ends in .json, or a model as `--model` takes it, of which only the
    vocabulary is read. Raises `FileError` for a file that is no tokenizer, `CapabilityMissing`
    where the library that reads it is not installed, and what `locate` raises.
    """
    if name.lower().endswith(".json"):
        return JsonTokenizer(Path(name).expanduser())
    return ModelTokenizer(name)


class ModelTokenizer:
    """Implements `TokenCounter` on the vocabulary of a GGUF; the weights are not loaded."""

    def __init__(self, name: str) -> None:
        weights = locate(name)
        self._sha256 = weights.sha256 or file_sha256(weights.path)
        self._vocabulary = VocabularyFile(weights.path)

    @property
    def identity(self) -> dict[str, Json]:
        """The file's hash."""
        return {"model_sha256": self._sha256}

    def count_tokens(self, text: str) -> int:
        """Tokens of a plain text."""
        return self._vocabulary.count_tokens(text)


class JsonTokenizer:
    """Implements `TokenCounter` on a Hugging Face `tokenizer.json`."""

    def __init__(self, path: Path) -> None:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise FileError(f"cannot read the tokenizer {path}: {error.strerror}") from error
        self._sha256 = hashlib.sha256(content).hexdigest()
        self._tokenizer = _read(content, path)

    @property
    def identity(self) -> dict[str, Json]:
        """The file's hash."""
        return {"tokenizer_sha256": self._sha256}

    def count_tokens(self, text: str) -> int:
        """Tokens of a plain text, without those that mark its beginning and end."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


def _read(content: bytes, path: Path) -> HubTokenizer:
    try:
        from tokenizers import Tokenizer as HubTokenizer
    except ImportError as error:
        raise CapabilityMissing(
            f"{path} is read by the package tokenizers, which is not installed",
            hint="pip install 'vedette[tokenizers]'",
        ) from error
    try:
        tokenizer = HubTokenizer.from_buffer(content)
    except Exception as error:  # the library raises nothing more exact
        raise FileError(
            f"{path} is no tokenizer file: {error}",
            hint="give the tokenizer.json of a Hugging Face model",
        ) from error
    # A file may say that texts are to be cut or padded; a count must do neither.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
