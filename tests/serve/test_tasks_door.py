"""`/v1/tasks`: every task over a request, from the one table."""

from __future__ import annotations

import json

import httpx2
import jsonschema_rs
import pytest
from served import served, wait_until
from verb_bodies import BODIES, LABELS, SCHEMA, TEXT, alike

from vedette.backends.around import Around
from vedette.cli.main import run
from vedette.engine.ticket import Ticket
from vedette.errors import Cancelled
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions
from vedette.serve.verbs.table import VERBS, _words


def ask(http, task, *, status=200, **body):
    reply = http.post(f"/v1/tasks/{task}", json=body)
    assert reply.status_code == status, reply.text
    return reply.json()


def refusal(http, task, **body):
    return ask(http, task, status=400, **body)["error"]


def inputs_of(body):
    return body["inputs"] if "inputs" in body else [body["input"]]


def test_there_is_a_body_for_every_task():
    assert BODIES.keys() == VERBS.keys()


@pytest.mark.parametrize("task", BODIES)
def test_every_task_answers(http, task):
    body = ask(http, task, **BODIES[task])
    lines = [body] if "input" in BODIES[task] else body["results"]
    assert len(lines) == len(inputs_of(BODIES[task]))
    for line in lines:
        assert line["ok"] is True, line
        assert {"id", "value", "usage"} <= line.keys()


@pytest.mark.parametrize("task", BODIES)
def test_the_listed_schemas_are_schemas_and_take_what_the_task_takes(http, task):
    listed = {entry["id"]: entry for entry in http.get("/v1/tasks").json()["data"]}
    assert list(listed) == list(VERBS)
    entry = listed[task]
    assert entry == http.get(f"/v1/tasks/{task}").json()
    takes = jsonschema_rs.validator_for(entry["options"])
    assert takes.is_valid(BODIES[task].get("options", {}))
    assert not takes.is_valid({"no_such_option": 1})
    reads = jsonschema_rs.validator_for(entry["input"])
    assert all(reads.is_valid(one) for one in inputs_of(BODIES[task]))
    assert not reads.is_valid(3)


@pytest.mark.parametrize("verb", VERBS.values(), ids=lambda verb: verb.name)
def test_every_option_is_described_and_no_other(verb):
    assert list(_words()[verb.name].get("options", {})) == list(verb.options.parameters)
    assert not verb.refused.keys() & verb.options.parameters.keys()


@pytest.mark.parametrize("task", ["classify", "extract", "tag", "redact"])
def test_results_are_those_of_a_batch_job(http, task, tiny_full, tmp_path, monkeypatch):
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    texts = [TEXT, "yes, not", "mail to ann@example.com"]
    (tmp_path / "rows.txt").write_text("\n".join(texts))
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    of_model = ["--model", str(tiny_full), "--threads", "1", "--width", "4", "--offline"]
    flags = {
        "classify": ["--labels", ",".join(LABELS), "--prior", "content-free", *of_model],
        "extract": ["--schema", str(tmp_path / "schema.json"), *of_model],
        "tag": ["--labels", ",".join(LABELS), *of_model],
        "redact": ["--format", "lines"],
    }[task]
    options = {
        "classify": {"labels": LABELS, "prior": "content-free"},
        "extract": {"schema": SCHEMA},
        "tag": {"labels": LABELS},
        "redact": {},
    }[task]
    out = tmp_path / "out.jsonl"
    assert run([task, str(tmp_path / "rows.txt"), "--quiet", "--out", str(out), *flags]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    results = ask(http, task, inputs=texts, options=options)["results"]
    if task == "redact":
        assert [line.pop("mapping") for line in results][2] == {"[EMAIL_1]": "ann@example.com"}
    for line, result in zip(lines, results, strict=True):
        assert line.keys() == result.keys()
        assert alike(line, result, 0.02)


def test_chinese_texts_labels_and_names(http):
    labels = {"投诉": "客户不满意", "咨询": "客户有问题"}
    line = ask(http, "classify", input="服务错误，日志中文", options={"labels": labels})
    assert line["value"]["label"] in labels
    assert list(line["value"]["probabilities"]) == list(labels)
    redacted = ask(http, "redact", input="我的手机号是13912345678，请回电")
    assert redacted["mapping"] == {"[PHONE_1]": "13912345678"}


def test_an_input_that_cannot_be_answered_is_its_own_error_only(http):
    inputs = ["yes", 3, {"text": "no", "id": "b"}, {"txt": "x"}, "word " * 5000, {"id": None}]
    body = ask(http, "classify", inputs=inputs, options={"labels": LABELS})
    assert body["model"] == "tiny"
    results = body["results"]
    assert [line["ok"] for line in results] == [True, False, True, False, False, False]
    assert [line["id"] for line in results] == ["1", "2", "b", "4", "5", "6"]
    assert results[3]["error"]["hint"] == "did you mean text?"
    assert results[4]["error"]["code"] == "input_too_long"


def test_a_single_input_without_an_answer_is_an_http_error(http):
    assert refusal(http, "classify", input=3, options={"labels": LABELS})["message"] == (
        "an input must be a text or an object"
    )
    long = refusal(http, "classify", input="word " * 5000, options={"labels": LABELS})
    assert long["code"] == "context_length_exceeded"


@pytest.mark.parametrize(
    ("task", "options", "param", "message"),
    [
        ("classify", {}, "options.labels", "is needed"),
        ("classify", {"labels": LABELS, "lables": 1}, "options.lables", "did you mean labels?"),
        ("classify", {"labels": LABELS, "multi": "yes"}, "options.multi", "valid boolean"),
        ("classify", {"labels": LABELS, "method": "x"}, "options.method", "'auto', 'score'"),
        ("classify", {"labels": LABELS, "examples": [{"text": "a", "lable": "b"}]},
         "options.examples.0", "Extra inputs"),
        ("tag", {"most": 0}, None, "most is 0"),
        ("sentiment", {"model": "x"}, "options.model", "there are prior"),
        ("metadata", {"prior": "none"}, "options.prior", "there is none"),
        ("decide", {"questions": ["Who? a|"]}, None, "has an empty option"),
        ("tool", {"tools": []}, None, "the list of tools is empty"),
        ("extract", {"schema": {"type": "objekt"}}, None, "objekt"),
        ("rewrite", {"count": 3}, None, "count goes with"),
        ("config-text", {"schema": SCHEMA, "to": "yaml"}, "options.to", "'ini'"),
        ("sql", {"tables": "DROP TABLE x"}, None, "CREATE TABLE"),
        ("sql", {"tables": "ATTACH DATABASE 'x.db' AS x"}, None, "not authorized"),
        ("sql", {"tables": "CREATE TABLE a AS SELECT 1"}, None, "not authorized"),
        ("sql", {"tables": "CREATE TABLE a (b); INSERT INTO a VALUES (1)"}, None, "not author"),
        ("dedupe", {"amount": "n"}, None, "name the fields"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_are_refused_by_name(http, task, options, param, message):
    error = refusal(http, task, inputs=[TEXT], options=options)
    assert message in error["message"]
    assert error["param"] == param


@pytest.mark.parametrize(
    ("task", "option", "value"),
    [
        ("classify", "labels", "labels.txt"),
        ("classify", "examples", "rows.jsonl"),
        ("classify", "thresholds", "thresholds.json"),
        ("extract", "examples", "rows.jsonl"),
        ("extract", "schema", "schema.json"),
        ("form", "schema", "schema.json"),
        ("tool", "tools", "tools.json"),
        ("command", "spec", "spec.json"),
        ("guard", "policies", ["own.toml"]),
        ("guard", "thresholds", "thresholds.json"),
        ("guard", "allow", ["(a+)+b"]),
        ("compress", "tokenizer", "tokenizer.json"),
        ("redact", "patterns", "patterns.toml"),
        ("redact", "vault", "vault"),
        ("sql", "database", "app.db"),
        ("sql", "tables", "app.db"),
        ("commit", "types", "types.txt"),
        ("triage", "teams", "teams.txt"),
        ("tag", "labels", "tags.txt"),
    ],
)
def test_no_file_of_the_server_is_read(http, tmp_path, monkeypatch, task, option, value):
    """The files are there, so that reading one would be no error."""
    monkeypatch.chdir(tmp_path)
    content = '{"type": "object", "properties": {"a": {"type": "boolean"}}}'
    for name in (value,) if isinstance(value, str) else value:
        if "(" not in name:
            (tmp_path / name).write_text(content)
    options = {**BODIES[task].get("options", {}), option: value}
    error = refusal(http, task, inputs=[TEXT], options=options)
    assert option in error["message"] or option in str(error["param"]) or value in error["message"]


def test_placeholders_are_the_same_in_all_texts_and_the_mapping_restores_them(http):
    texts = ["ann@example.com wrote", "to bob@example.com from ann@example.com"]
    first, second = ask(http, "redact", inputs=texts)["results"]
    assert first["value"] == "[EMAIL_1] wrote"
    assert second["value"] == "to [EMAIL_2] from [EMAIL_1]"
    assert second["mapping"] == {"[EMAIL_1]": "ann@example.com", "[EMAIL_2]": "bob@example.com"}
    assert all("value" not in entity for entity in second["entities"])


def test_rows_are_compared_with_each_other(http):
    rows = [{"id": "a", "n": "red shoe"}, {"id": "b", "n": "RED shoe"}, {"id": "c", "n": "hat"}]
    results = ask(http, "dedupe", inputs=rows, options={"fields": ["n"]})["results"]
    assert [line["value"]["representative"] for line in results] == ["a", "a", "c"]
    assert [line["value"]["cluster"] for line in results] == [1, 1, 2]
    assert "give inputs" in refusal(http, "dedupe", input="x")["message"]
    assert "input 2: " in refusal(http, "dedupe", inputs=["x", 3])["message"]
    for other in ({"m": "a"}, "a"):
        refused = refusal(http, "dedupe", inputs=[{"n": "a"}, other], options={"fields": ["n"]})
        assert refused["message"] == "the input 2 has none of the fields 'n'"


def test_a_model_judges_doubtful_pairs_and_its_tokens_are_told(http):
    rows = ["the server failed on request", "the server failed on level"]
    options = {"model_check": True, "grey_from": 0.3, "threshold": 0.95}
    results = ask(http, "dedupe", inputs=rows, options=options)["results"]
    assert sum(line["usage"]["prompt_tokens"] for line in results) > 0


def test_conversations_are_rewritten(http):
    messages = [{"role": "user", "content": "hello"}, {"role": "user", "content": "why?"}]
    assert ask(http, "rewrite", input={"messages": messages})["ok"]
    both = refusal(http, "rewrite", input={"messages": messages, "history": "x"})
    assert "'history'" in both["message"]


def test_what_a_body_must_have(http):
    assert refusal(http, "tag")["message"] == "give either input or inputs"
    assert refusal(http, "tag", input="a", inputs=["b"])["param"] == "input"
    assert refusal(http, "tag", inputs=[])["param"] == "inputs"
    assert refusal(http, "tag", input="a", stream=True)["param"] == "stream"
    assert refusal(http, "tag", input="a", option={})["code"] == "unknown_field"
    assert ask(http, "tag", input="a", stream=False, model="tiny", options={"labels": LABELS})["ok"]
    assert ask(http, "tag", status=404, input="a", model="gpt")["error"]["param"] == "model"
    unknown = ask(http, "clasify", status=404, input="a")["error"]
    assert "did you mean classify?" in unknown["message"]


def test_text_that_is_no_unicode_is_refused(http):
    half = json.loads('"\\ud800"')
    bodies = ({"input": half}, {"inputs": [half]}, {"input": {"text": "a", half: 1}})
    for body in bodies:
        raw = json.dumps(body).encode()
        reply = http.post(
            "/v1/tasks/redact", content=raw, headers={"content-type": "application/json"}
        )
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_input")
    options = json.dumps({"input": "a", "options": {"labels": [half]}}).encode()
    reply = http.post(
        "/v1/tasks/tag", content=options, headers={"content-type": "application/json"}
    )
    assert reply.status_code == 400


class Endless(Around):
    """Answers nothing until it is cancelled."""

    def __init__(self, backend):
        super().__init__(backend)
        self.handles = []

    def answered(self, request):
        self.handles.append(_Endless())
        return self.handles[-1]


class _Endless(Ticket):
    def cancel(self):
        super().cancel()
        self.settle(None, Cancelled("cancelled"))


def test_a_client_that_leaves_ends_its_task_and_frees_its_place(tiny_backend):
    backend = Endless(tiny_backend)
    options = ServeOptions(model="tiny", max_requests=1)
    body = {"inputs": [TEXT] * 20, "options": {"labels": LABELS, "prior": "none"}}
    with served(create_app(backend, options)) as url, httpx2.Client(base_url=url) as http:
        for n in (1, 2):
            with pytest.raises(httpx2.ReadTimeout):
                http.post("/v1/tasks/classify", json=body, timeout=0.5)
            wait_until(lambda: all(handle.cancelled for handle in backend.handles))
            assert len(backend.handles) == n  # the place was free, and nothing more was begun


def test_a_task_is_ended_in_time_and_takes_places_among_all(tiny_backend):
    backend = Endless(tiny_backend)
    options = ServeOptions(model="tiny", max_requests=3, deadline_s=0.01)
    with served(create_app(tiny_backend, options)) as url:
        body = {"inputs": [TEXT] * 60, "options": {"schema": SCHEMA}}
        results = httpx2.post(f"{url}/v1/tasks/extract", json=body, timeout=60).json()["results"]
        assert results[-1]["error"]["code"] == "deadline_exceeded"
    with served(create_app(backend, ServeOptions(model="tiny", max_requests=1))) as url:
        with httpx2.Client(base_url=url) as http, pytest.raises(httpx2.ReadTimeout):
            http.post("/v1/tasks/tag", json={"input": "a"}, timeout=0.5)
        wait_until(lambda: backend.handles[0].cancelled)
