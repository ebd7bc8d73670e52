"""A program that looks like a llama-server which speculates; its times are made up."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPT = '''#!{python}
import json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = {mode!r}
HELP = """
-np, --parallel N   slots
--metrics           metrics
-fa, --flash-attn [on|off|auto]
-md, --model-draft FNAME
--spec-type none,draft-simple,ngram-mod
--spec-draft-n-max N
--spec-ngram-mod-n-max N
"""
if MODE != "old":
    HELP += "--spec-synth-rates P0,P1,..."
arguments = sys.argv[1:]
if "--help" in arguments:
    print(HELP)
    sys.exit()
values = dict(zip(arguments, arguments[1:]))
if "--wrong" in arguments:
    print("error: invalid argument: --wrong", flush=True)
    sys.exit(1)
kind = values.get("--spec-type", "none")
n = int(values.get("--spec-draft-n-max", values.get("--spec-ngram-mod-n-max", 3)))
is_refused = "--spec-synth-rates" in arguments
PLAIN_MS, GUESS_MS, DRAFT_MS, FIXED_MS = 20.0, 5.0, 4.0, 2.0
asked, drafts, right = [], 0, [0] * n


def written(prompt):
    words = (prompt * 3).split()[:16] if isinstance(prompt, str) else ["x"]
    if kind == "draft-simple" and MODE == "differs":
        words[5] = "else"
    return words


def complete(body):
    global drafts
    asked.append(body)
    words = written(body["prompt"])[: body["n_predict"]]
    timings = {{"predicted_n": len(words), "predicted_ms": PLAIN_MS * (len(words) - 1)}}
    if kind != "none" and MODE != "silent" and len(words) > 2:
        accepted = 0 if is_refused else 1
        steps = (len(words) - 1) // (accepted + 1)
        own = n * DRAFT_MS + FIXED_MS if kind == "draft-simple" else 0
        timings = {{
            "predicted_n": steps * (accepted + 1) + 1,
            "predicted_ms": steps * (PLAIN_MS + n * GUESS_MS + own),
            "draft_n": steps * n, "draft_n_accepted": steps * accepted,
        }}
        drafts += steps
        right[0] += steps * accepted
    probabilities = [{{"top_logprobs": [{{"logprob": -0.5}}, {{"logprob": -0.53}}]}}]
    return {{
        "content": " ".join(words), "tokens": [hash_of(word) for word in words],
        "timings": timings, "completion_probabilities": probabilities,
    }}


def hash_of(word):
    return sum(map(ord, word))


def metrics():
    lines = [f"llamacpp:spec_decode_num_drafts_total {{drafts}}"]
    if drafts:
        name = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
        lines += [f'{{name}}{{{{position="{{i}}"}}}} {{count}}' for i, count in enumerate(right)]
    return "\\n".join(lines)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, content):
        content = content.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        if self.path == "/metrics":
            self.reply(metrics())
        else:
            self.reply(json.dumps({{"status": "ok", "asked": asked, "arguments": arguments}}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if MODE == "dies" and "story" in str(body):
            os._exit(7)
        if self.path == "/apply-template":
            answer = {{"prompt": "".join(m["content"] + "\\n" for m in body["messages"])}}
        elif self.path == "/tokenize":
            answer = {{"tokens": list(range(len(body["content"].split())))}}
        else:
            answer = complete(body)
        self.reply(json.dumps(answer))


ThreadingHTTPServer(("127.0.0.1", int(values["--port"])), Handler).serve_forever()
'''


def write_fake(folder: Path, mode: str = "ok") -> Path:
    """The program in this folder. Modes: ok, silent, differs, old, dies."""
    program = folder / f"llama-server-{mode}"
    program.write_text(SCRIPT.format(python=sys.executable, mode=mode))
    program.chmod(0o755)
    return program
