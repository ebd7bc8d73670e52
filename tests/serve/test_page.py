"""The page as files: what is sent, to whom, and that its texts are there in both languages."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import httpx2
import pytest
from served import served

from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions

STATIC = files("vedette.serve") / "static"
SCRIPTS = {
    path.name: path.read_text(encoding="utf-8")
    for folder in (STATIC, STATIC / "views")
    for path in folder.iterdir()
    if path.name.endswith(".js")
}


def words(language: str) -> dict[str, str]:
    return json.loads((STATIC / f"words.{language}.json").read_text(encoding="utf-8"))


def test_the_page_comes_with_a_policy_that_lets_nothing_in_from_elsewhere(http):
    reply = http.get("/")
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_file_of_the_page_names_another_host_or_has_inline_code():
    for name, text in {**SCRIPTS, "index.html": (STATIC / "index.html").read_text()}.items():
        addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|\beval\(", text), name
    assert not re.search(
        r"<script(?![^>]*src=)|\sstyle=|\son\w+=", (STATIC / "index.html").read_text()
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("style.css", "text/css; charset=utf-8"),
        ("app.js", "text/javascript; charset=utf-8"),
        ("views/decide.js", "text/javascript; charset=utf-8"),
        ("words.zh.json", "application/json"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_its_files_come_as_what_they_are(http, name, kind):
    reply = http.get(f"/page/{name}")
    assert reply.status_code == 200
    assert reply.headers["content-type"] == kind
    assert reply.content == STATIC.joinpath(*name.split("/")).read_bytes()


@pytest.mark.parametrize("name", ["", "../app.py", "..%2fapp.py", "%2e%2e/page.py", "no.js"])
def test_no_other_file_is_sent(http, name):
    reply = http.get(f"/page/{name}")
    assert reply.status_code == 404
    assert reply.json()["error"]["code"] == "not_found"


def test_the_page_needs_no_key_and_what_it_shows_does(tiny_backend):
    with served(create_app(tiny_backend, ServeOptions(model="tiny", api_key="sesame"))) as url:
        assert httpx2.get(f"{url}/").status_code == 200
        assert httpx2.get(f"{url}/page/app.js").status_code == 200
        for path in ("/v1/activity", "/v1/machine", "/page", "//v1/models", "/page/../v1/models"):
            assert httpx2.get(f"{url}{path}").status_code == 401, path


def test_both_languages_say_the_same_things_with_the_same_blanks():
    english, chinese = words("en"), words("zh")
    assert english.keys() == chinese.keys()
    for name, text in english.items():
        blanks = re.compile(r"\{(\w+)\}")
        assert set(blanks.findall(text)) == set(blanks.findall(chinese[name])), name
        assert chinese[name].strip(), name


def test_every_text_that_a_script_asks_for_is_there():
    asked = {name for text in SCRIPTS.values() for name in re.findall(r'\bt\(\s*"([^"]+)"', text)}
    assert len(asked) > 100
    assert asked <= words("en").keys()


def test_every_view_has_a_title_and_a_lead():
    listed = re.findall(r"export const VIEWS = \{([^}]+)\}", SCRIPTS["views.js"])[0]
    names = [name.strip() for name in listed.split(",")]
    assert len(names) > 10
    for name in names:
        assert {f"{name}.title", f"{name}.lead"} <= words("en").keys()


def test_activity_tells_of_requests_and_not_of_what_they_said(http):
    body = {"model": "tiny", "messages": [{"role": "user", "content": "a-secret"}], "max_tokens": 1}
    assert http.post("/v1/chat/completions", json=body).status_code == 200
    told = http.get("/v1/activity").json()
    latest = told["requests"][0]
    assert (latest["method"], latest["path"]) == ("POST", "/v1/chat/completions")
    assert latest["status"] == 200
    assert latest["ms"] > 0
    assert "a-secret" not in json.dumps(told)
    again = http.get("/v1/activity").json()
    assert again["requests"][0] == latest  # the page's own look is left out


def test_a_refused_schema_is_reported_and_no_error(http):
    schema = {"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/x"}}}
    reply = http.post("/v1/schema", json={"schema": schema})
    assert reply.status_code == 200
    assert reply.json()["counts"]["refused"] == 1


def test_the_machine_tells_what_the_engine_did(http):
    told = http.get("/v1/machine").json()
    assert told["engine"]["steps"] > 0
    assert told["curve"] == []
