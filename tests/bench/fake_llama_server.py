"""A program that looks like a llama-server and answers what its requests allow, by rule."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPT = '''#!{python}
import json, os, signal, subprocess, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = {mode!r}
HELP = """
-np, --parallel N   slots
--ui, --no-ui, --no-webui   the UI
--ui-mcp-proxy, --no-ui-mcp-proxy
--cache-ram N       prompt cache
-fa, --flash-attn [on|off|auto]
-lv, --verbosity N  log level
"""
SYSTEM_INFO = "system_info: n_threads = 2 / 2 | CPU : SSE3 = 1 | AVX = 1 | AVX512 = 0 |"

arguments = sys.argv[1:]
if "--version" in arguments:
    print("version: 4321 (abcdef0)\\nbuilt with cc")
    sys.exit()
if "--help" in arguments:
    print(HELP)
    sys.exit()
values = dict(zip(arguments, arguments[1:]))
if not os.path.exists(values["-m"]):
    print(SYSTEM_INFO if values.get("-lv") == "4" else "quiet")
    sys.exit(1)
print("loading model", flush=True)
if MODE == "sigill":
    os.kill(os.getpid(), signal.SIGILL)
if MODE == "crash":
    print("error: unknown tensor type 99", flush=True)
    sys.exit(3)
if MODE == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if MODE == "wrapper":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print("child", child.pid, flush=True)

lock, under_way, most, seen = threading.Lock(), 0, 0, 0


def answer(body):
    last = body["messages"][-1]["content"]
    if "grammar" in body:
        return body["grammar"].split('"')[1]
    if "cut" in last:
        return '{{"level": "IN'
    return json.dumps({{"level": "ERROR" if "fail" in last else "INFO"}})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, value):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        if MODE == "never":
            self.reply(503, {{"error": {{"message": "Loading model"}}}})
        elif self.path == "/seen":
            self.reply(200, {{"most": most, "arguments": arguments}})
        else:
            self.reply(200, {{"status": "ok"}})

    def do_POST(self):
        global under_way, most, seen
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if MODE == "dies":
            os._exit(7)
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.02)
        last = body["messages"][-1]["content"]
        if "refuse" in last:
            self.reply(400, {{"error": {{"message": "request exceeds the context"}}}})
        else:
            self.reply(200, {{
                "choices": [{{
                    "message": {{"role": "assistant", "content": answer(body)}},
                    "finish_reason": "length" if "cut" in last else "stop",
                }}],
                "usage": {{
                    "prompt_tokens": 20, "completion_tokens": 5,
                    "prompt_tokens_details": {{"cached_tokens": 12}},
                }},
            }})
        with lock:
            under_way -= 1


ThreadingHTTPServer(("127.0.0.1", int(values["--port"])), Handler).serve_forever()
'''


def write_fake(folder: Path, mode: str = "ok") -> Path:
    """The program in this folder. Modes: ok, crash, sigill, never, stubborn, wrapper, dies."""
    program = folder / f"llama-server-{mode}"
    program.write_text(SCRIPT.format(python=sys.executable, mode=mode))
    program.chmod(0o755)
    return program
