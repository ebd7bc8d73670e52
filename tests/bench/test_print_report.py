"""How measurements end: with a report, an error, or stopped."""

from __future__ import annotations

import os
import signal

import pytest
from common import print_report

from vedette.errors import InputError


def test_a_report_is_printed(capsys):
    assert print_report(lambda: "all right") == 0
    assert capsys.readouterr().out == "all right\n"


def test_what_is_wrong_is_exit_code_2(capsys):
    def fail() -> str:
        raise InputError("no rows")

    assert print_report(fail) == 2
    assert capsys.readouterr() == ("", "error: no rows\n")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_says_where_it_goes_on_from(how, capsys):
    def stop() -> str:
        os.kill(os.getpid(), how)
        return "not stopped"

    assert print_report(stop, kept_in="--scores") == 130
    assert capsys.readouterr().err == "stopped; the same command goes on with what is in --scores\n"
    assert print_report(stop, kept_in=None) == 130
    assert capsys.readouterr() == ("", "stopped\n")
