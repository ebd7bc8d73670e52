"""Command lines for llama-server, looked through and mended: flags, values, files.

    mended = lint_command("llama-server -m big.gguf -md small.gguf --draft-max 8")
    mended.text, mended.findings

What a build knows is told by its own `--help`, or by tables for ranges of builds that come with
vedette. Nothing is run but `llama-server --help`, and only if `Wish.run_program` says so.
"""

from .finding import CommandReport, Finding, Mended, Place, Severity
from .linter import Kind, kind_of, lint_command, lint_file, lint_text
from .target import BuildRange, Flavour, Wish
from .write import write_mended

__all__ = [
    "BuildRange",
    "CommandReport",
    "Finding",
    "Flavour",
    "Kind",
    "Mended",
    "Place",
    "Severity",
    "Wish",
    "kind_of",
    "lint_command",
    "lint_file",
    "lint_text",
    "write_mended",
]
