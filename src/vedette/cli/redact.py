"""`vedette redact`: personal data and secrets out of texts, and back in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from vedette.cli.job import PathOrStdin, check_paths, read_text
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.redaction.redactor import Redactor
    from vedette.redaction.vault import Vault
    from vedette.tasks.names import FindNames


def redact(
    *paths: PathOrStdin,
    out: str = "-",
    format: Literal["auto", "text", "jsonl", "csv", "parquet", "lines"] = "auto",
    restore: bool = False,
    vault: str | None = None,
    vault_key: str | None = None,
    kinds: str | None = None,
    names: bool = False,
    entities: str | None = None,
    regions: str = "US,GB,DE,CN",
    allow: str | None = None,
    patterns: str | None = None,
    report: str | None = None,
    report_values: bool = False,
    text_field: str | None = None,
    id_field: str | None = None,
    limit: int | None = None,
    model: str | None = None,
    width: int | None = None,
    threads: int | None = None,
    offline: bool | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Replace personal data and secrets by placeholders such as [EMAIL_1]; --restore undoes it.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    out
        File for the result, or a folder for several texts; - is stdout.
    format
        A text as a whole, or rows; auto goes by the suffix.
    restore
        Put back what the vault holds, in the places where its placeholders stand now.
    vault
        Encrypted file for the values, to be restored later. One that exists is continued.
    vault_key
        File with the key of the vault, if VEDETTE_VAULT_KEY does not hold it.
    kinds
        What rules look for, separated by commas; all by default.
    names
        Have the model look for people, addresses and organisations too.
    entities
        Kinds of names that the model looks for instead: a list, or a file with `name: description`
        lines. It turns on the model, without --names too.
    regions
        Countries whose national telephone numbers count.
    allow
        File with values that stay, one a line.
    patterns
        TOML file with patterns of your own.
    report
        File for a JSON line about each value that was replaced, without the value.
    report_values
        With the value.
    text_field
        Field or column that holds the text of a row (text).
    id_field
        Field or column that holds its id (id, where there is one).
    limit
        Only the first N rows.
    model
        Name, hf:user/repo:QUANT or path of the weights, for names.
    width
        Most sequences in one batch.
    threads
        CPU threads.
    offline
        Never use the network.
    json
        Print the summary as JSON, to stderr.
    quiet
        No summary.
    """
    from vedette.cli.redact_restore import restore_all
    from vedette.cli.redact_run import ModelOptions, Run

    check_paths(paths, redact)
    has_names = names or entities is not None
    if restore and vault is None:
        raise InputError("--restore needs the vault", hint="name it with --vault")
    _refuse("is for --vault", not vault, vault_key=vault_key)
    _refuse("goes with --report", not report, report_values=report_values)
    _refuse("is for --names and --entities", not has_names, model=model, width=width)
    _refuse("is for --names and --entities", not has_names, threads=threads, offline=offline)
    searching = {"kinds": kinds, "names": names, "entities": entities, "allow": allow}
    _refuse("has no effect with --restore", restore, **searching)
    _refuse("has no effect with --restore", restore, report=report, patterns=patterns)
    _refuse("has no effect with --restore", restore, limit=limit, text_field=text_field)
    finder = _finder(names, entities)
    redactor = _redactor(kinds, regions, allow, patterns)
    opened = _vault(vault, vault_key, writing=not restore) if vault else None
    try:
        if restore and opened is not None:
            return restore_all(paths or ("-",), out, format, opened, quiet=quiet)
        run = Run(
            paths=paths or ("-",),
            out=out,
            format=format,
            redactor=redactor,
            finder=finder,
            model=ModelOptions(model, width, threads, offline),
            vault=opened,
            report=report,
            report_values=report_values,
            text_field=text_field,
            id_field=id_field,
            limit=limit,
        )
        return run.run(as_json=json, quiet=quiet)
    finally:
        if opened is not None:
            opened.close()


def _refuse(why: str, is_wrong: bool, **given: object) -> None:
    """Raise `InputError` if an option was given that would have no effect."""
    name = next((name for name, value in given.items() if value not in (None, False)), None)
    if is_wrong and name is not None:
        raise InputError(f"--{name.replace('_', '-')} {why}")


def _finder(names: bool, entities: str | None) -> FindNames | None:
    if not names and entities is None:
        return None
    from vedette.tasks.labels import Label, read_labels
    from vedette.tasks.names import DEFAULT_KINDS, FindNames

    if entities is not None:
        return FindNames(read_labels(entities))
    return FindNames(tuple(Label(kind) for kind in DEFAULT_KINDS))


def _redactor(kinds: str | None, regions: str, allow: str | None, patterns: str | None) -> Redactor:
    from vedette.redaction.detectors.custom import read_patterns
    from vedette.redaction.redactor import Redactor, allowed_values

    chosen = None if kinds is None else _listed(kinds)
    if chosen == ():
        raise InputError("--kinds names no kinds", hint="leave it out for all of them")
    return Redactor.of(
        chosen,
        regions=_listed(regions),
        more=read_patterns(patterns) if patterns else (),
        allow=allowed_values(read_text(allow, "allowed values")) if allow else (),
    )


def _vault(path: str, key_file: str | None, *, writing: bool) -> Vault:
    from vedette.config import VAULT_KEY_VARIABLE
    from vedette.redaction.vault import Vault

    if key_file is not None:
        key = read_text(key_file, "vault's key").strip("\r\n")
    else:
        key = os.environ.get(VAULT_KEY_VARIABLE, "")
    if not key:
        raise InputError(
            "the vault needs a key", hint=f"set {VAULT_KEY_VARIABLE}, or name a file: --vault-key"
        )
    return Vault(path, key, writing=writing)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
