"""A job in a process of its own, to be killed, interrupted or measured.

job_process.py INPUT OUT [name=value ...]
"""

from __future__ import annotations

import json
import resource
import sys

import fakes

from vedette.batch import Job, Source, run
from vedette.errors import VedetteError

DEFAULTS = {"delay_ms": 1.0, "width": 8, "log": None, "format": "auto", "file_bytes": 0}


def main() -> int:
    options = dict(DEFAULTS)
    for argument in sys.argv[3:]:
        name, value = argument.split("=", 1)
        default = DEFAULTS[name]
        options[name] = value if default is None else type(default)(value)
    if options["file_bytes"]:
        limit = options["file_bytes"]
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    before = peak_bytes()
    backend = fakes.FakeBackend(
        delay_ms=options["delay_ms"], width=options["width"], log=options["log"]
    )
    source = Source(paths=(sys.argv[1],), format=options["format"])
    try:
        summary = run(Job(source=source, task=fakes.ShoutTask(), backend=backend, out=sys.argv[2]))
    except VedetteError as error:
        print(json.dumps({"error": error.as_dict()}), file=sys.stderr)
        return 2
    report = {
        **summary.as_dict(),
        "headline": summary.headline,
        "grown_bytes": peak_bytes() - before,
    }
    print(json.dumps(report), file=sys.stderr)
    return summary.exit_code


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main())
