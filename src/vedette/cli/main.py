"""The command line: its verbs, and how every ending becomes a line and an exit code.

    0    done; every row answered
    1    finished, but some rows are errors
    2    the command could not run as asked: one line on stderr says why
    70   a bug in vedette: traceback on stderr
    130  interrupted
    141  the reader of stdout went away

Verbs are import paths, so that `vedette --help` loads none of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter, UnknownCommandError, UnusedCliTokensError

from vedette.cli.console import complain, is_terminal
from vedette.errors import VedetteError

EXIT_CANNOT_RUN = 2
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_READER_GONE = 141

# verb: (where it is, its line in `vedette --help`)
VERBS = {
    "pull": ("vedette.cli.pull:pull", "Fetch model weights, checked by hash."),
    "models": ("vedette.cli.models:models", "List known models and those on this machine."),
    "show": ("vedette.cli.show:show", "Explain a model file: type, size, template, memory."),
    "tune": ("vedette.cli.tune:tune", "Make a model fast for this machine."),
    "extract": ("vedette.cli.extract:extract", "Turn texts into JSON that fits a schema."),
    "classify": ("vedette.cli.classify:classify", "Give texts one label, or several."),
    "decide": ("vedette.cli.decide:decide", "Answer closed questions about texts, with odds."),
    "sentiment": ("vedette.cli.sentiment:sentiment", "Say how texts feel about their subject."),
    "tag": ("vedette.cli.tag:tag", "Give texts tags, free ones or those of a list."),
    "triage": ("vedette.cli.triage:triage", "Sort tickets: category, urgency, anger, team."),
    "metadata": ("vedette.cli.metadata:metadata", "Say what documents are: title, date, ..."),
    "route": ("vedette.cli.route:route", "Say which tasks need a larger model, and why."),
    "rerank": ("vedette.cli.rerank:rerank", "Order candidates by how well they answer a query."),
    "rewrite": ("vedette.cli.rewrite:rewrite", "Turn questions into search queries."),
    "guard": ("vedette.cli.guard:guard", "Flag texts that break a policy, with the place."),
    "generate": ("vedette.cli.generate:generate", "Answer prompts, free or under a grammar."),
    "tool": ("vedette.cli.tool:tool", "Say which tool a text asks for, with its arguments."),
    "form": ("vedette.cli.form:form", "Fill in a form from texts; what is known stays."),
    "command": ("vedette.cli.command:command", "Write command lines that a program accepts."),
    "config-text": ("vedette.cli.config_text:config_text", "Write INI, TOML or env files."),
    "sql": ("vedette.cli.sql:sql", "Write SQL that answers questions over a database."),
    "redact": ("vedette.cli.redact:redact", "Replace personal data and secrets, reversibly."),
    "commit": ("vedette.cli.commit:commit", "Write a commit message from staged changes."),
    "changelog": ("vedette.cli.changelog:changelog", "Write a changelog from commits."),
    "pr": ("vedette.cli.pr:pr", "Write a pull request's title and description."),
    "compress": ("vedette.cli.compress:compress", "Shorten texts to what matters, verbatim."),
    "summarise": ("vedette.cli.summarise:summarise", "Put long texts into few words."),
    "clean": ("vedette.cli.clean:clean", "Bring the values of rows into one form."),
    "dedupe": ("vedette.cli.dedupe:dedupe", "Find rows that say the same."),
    "schema": ("vedette.cli.schema:app", "Say what becomes of each keyword of a JSON Schema."),
    "eval": (
        "vedette.cli.eval_verbs:eval_app",
        "Say how good a task's answers are, from labelled rows.",
    ),
    "calibrate": (
        "vedette.cli.eval_verbs:calibrate_app",
        "Find which answers can be kept, and promise it.",
    ),
    "adapt": (
        "vedette.cli.adapt:app",
        "Train a LoRA adapter on labelled rows; kept if it is better.",
    ),
    "context": ("vedette.cli.context:context", "Measure how much text a model can use."),
    "run-batch": ("vedette.cli.run_batch:run_batch", "Answer a file of OpenAI batch requests."),
    "serve": ("vedette.cli.serve:serve", "Answer over HTTP as OpenAI's API does."),
    "keys": ("vedette.cli.keys:app", "Make, list and remove API keys of serve."),
    "mcp": ("vedette.cli.mcp:mcp", "Offer the tasks as tools to programs that speak MCP."),
    "ledger": ("vedette.cli.ledger:ledger", "Add up what went through the gateway."),
    "doctor": ("vedette.cli.doctor:doctor", "Look at this machine and say what to expect of it."),
    "spec": (
        "vedette.cli.spec:app",
        "Plan, measure and mend guessing ahead (speculative decoding).",
    ),
    "bench": ("vedette.cli.bench:app", "Measure vedette against a llama-server."),
    "config": ("vedette.cli.config:app", "Show settings and where each value came from."),
}


def make_app(*, plain: bool = False) -> App:
    """The whole command line; `plain` help has no boxes."""
    app = App(
        name="vedette",
        help="Checked answers from small local models.",
        version=_version,
        default_parameter=Parameter(negative=()),
        help_format="plaintext",  # markdown would load a parser and a highlighter
        help_formatter="plain" if plain else "default",
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    for name, (path, summary) in VERBS.items():
        app.command(path, name=name, help=summary)
    return app


def run(tokens: Sequence[str]) -> int:
    """Run one command line and return its exit code. Expected failures are one line on stderr."""
    try:
        app = make_app(plain=not is_terminal(sys.stdout))
        code = app(list(tokens), exit_on_error=False, print_error=False)
        sys.stdout.flush()  # here, where a reader that went away can still be handled
        return code if isinstance(code, int) else 0
    except CycloptsError as error:
        chain = " ".join(["vedette", *(error.command_chain or ())])
        complain(_usage_problem(error), f'Run "{chain} --help" for usage.')
        return EXIT_CANNOT_RUN
    except VedetteError as error:
        complain(error.message, error.hint)
        return EXIT_CANNOT_RUN
    except KeyboardInterrupt:
        complain("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return EXIT_READER_GONE
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):  # rich's way of handling it
            return EXIT_READER_GONE
        raise
    except Exception:
        _report_bug()
        return EXIT_BUG


def main() -> None:
    """Entry point of the `vedette` command."""
    sys.exit(run(sys.argv[1:]))


def _version() -> str:
    from importlib.metadata import version

    return version("vedette")


def _usage_problem(error: CycloptsError) -> str:
    """What cyclopts found wrong; at the top level in our words, as its own load every verb."""
    if isinstance(error, UnknownCommandError) and not error.command_chain:
        return _unknown_verb((error.unused_tokens or ["?"])[0])
    if isinstance(error, UnusedCliTokensError):
        return f'Unexpected argument "{(error.unused_tokens or ["?"])[0]}".'
    return str(error)


def _unknown_verb(given: str) -> str:
    import difflib

    what = "option" if given.startswith("-") else "command"
    valid = ["--help", "--version"] if what == "option" else list(VERBS)
    meant = difflib.get_close_matches(given, valid, n=1)
    advice = f'Did you mean "{meant[0]}"?' if meant else f"Valid are {', '.join(valid)}."
    return f'Unknown {what} "{given}". {advice}'


def _report_bug() -> None:
    import traceback

    traceback.print_exc()
    complain("this is a bug in vedette", "Please report it with the lines above.")


def _discard_stdout() -> None:
    """Send what is still buffered nowhere, so that the flush at exit does not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    main()
