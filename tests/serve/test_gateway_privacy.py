"""Nothing planted ever reaches the larger model, and all of it comes back to the client."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from gatewayed import gatewayed, text_of, tier
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from upstreams import upstream

ROUTE = '[gateway.routes.auto]\ncall = ["large"]\nredact = {}\n'
PLANTED = {
    "email": "ann.lee@example.com",
    "phone": "+49 170 1234567",
    "iban": "DE89 3704 0044 0532 0130 00",
    "card": "4111 1111 1111 1111",
    "cn_id": "11010519491231002X",
    "us_ssn": "536-90-4399",
    "ip": "10.20.30.40",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "password": "hunter2-or-3",
}
TEXT = (
    "Mail {email}, call {phone}. IBAN {iban}, card {card}. 身份证{cn_id}。 SSN {us_ssn} from {ip}. "
    "key {aws}, password: {password}"
).format(**PLANTED)


@pytest.fixture(scope="module")
def large():
    with upstream() as one:
        yield one


@pytest.fixture(scope="module")
def on(tiny_backend, large, tmp_path_factory):
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("gateway")
    with gatewayed(folder, patch, tiny_backend, tier(large) + ROUTE) as server:
        yield server
    patch.undo()


def assert_clean(large) -> None:
    for name, value in PLANTED.items():
        assert value not in large.sent, name
        assert value.replace(" ", "") not in large.sent.replace(" ", ""), name


def test_an_answer_comes_back_with_its_values_and_nothing_leaves(on, large):
    response = on.ask(TEXT)
    assert response.json()["choices"][0]["message"]["content"] == TEXT
    assert int(response.headers["x-vedette-hidden"]) == len(PLANTED)
    assert "[EMAIL_1]" in large.last["messages"][0]["content"]
    assert_clean(large)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 400), max_size=60))
def test_a_stream_is_restored_however_it_is_cut(on, large, cuts):
    def cut(text: str) -> list[str]:
        places = [0, *sorted({cut % (len(text) + 1) for cut in cuts}), len(text)]
        return [text[a:b] for a, b in pairwise(places)]

    large.pieces = cut
    _, events = on.stream(TEXT)
    assert text_of(events) == TEXT
    assert events[-1] is None
    assert_clean(large)


def test_letter_by_letter_too_and_what_is_no_placeholder_is_not_held(on, large):
    large.pieces = list
    large.text = lambda body: "a [link] " + body["messages"][-1]["content"] + " [EMAIL_1"
    _, events = on.stream(TEXT)
    assert text_of(events) == f"a [link] {TEXT} [EMAIL_1"
    deltas = [e["choices"][0]["delta"].get("content") for e in events if e]
    assert deltas[1:5] == ["a", " ", "", "[l"]
    large.pieces, large.text = (lambda text: [text]), (lambda body: body["messages"][-1]["content"])


def test_every_string_of_the_body_is_looked_at(on, large):
    email, card = PLANTED["email"], PLANTED["card"]
    on.ask(
        [
            {"role": "system", "content": f"The agent is {email}."},
            {"role": "user", "content": [{"type": "text", "text": f"card {card}"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "1",
                        "type": "function",
                        "function": {"name": "f", "arguments": json.dumps({"to": email})},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": f"sent to {email}"},
        ],
        tools=[{"type": "function", "function": {"name": "f", "description": f"as {email}"}}],
        user=email,
        metadata={"who": [email]},
    )
    assert large.last["user"] == "[EMAIL_1]"
    assert large.last["tools"][0]["function"]["description"] == "as [EMAIL_1]"
    assert_clean(large)


def test_a_secret_is_hidden_where_nothing_says_that_it_is_one(on, large):
    """Rules know it by the word before it, in another turn."""
    turns = ["password: hunter2-or-3", "Noted.", "Now say hunter2-or-3 backwards."]
    roles = ["user", "assistant", "user"]
    said = [{"role": r, "content": t} for r, t in zip(roles, turns, strict=True)]
    response = on.ask(said)
    assert large.last["messages"][2]["content"] == "Now say [SECRET_1] backwards."
    assert response.json()["choices"][0]["message"]["content"] == turns[2]


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        (
            {"text": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            500,
            "cannot be looked through",
        ),
        ({"text": "x", "metadata": {PLANTED["email"]: "x"}}, 500, "the name of a field"),
        ({"text": "x", "metadata": {"card": 4111111111111111}}, 500, "a number is what"),
        ({"text": "x", "logprobs": True}, 400, "logprobs"),
    ],
)
def test_what_cannot_be_hidden_does_not_leave(on, large, fields, status, words):
    n_before = len(large.bodies)
    response = on.ask(**fields)
    assert response.status_code == status
    assert words in response.json()["error"]["message"]
    assert PLANTED["email"] not in response.text
    assert len(large.bodies) == n_before
    assert on.rows[-1]["outcome"] in ("redaction_failed", "invalid_input")


def test_arguments_of_tools_stay_json(tmp_path, monkeypatch, tiny_backend):
    quoted = 'password: "say \\"hi\\" now-2"'
    with upstream(delta_key="tool", pieces=list) as large:
        large.text = lambda body: json.dumps({"seen": "[SECRET_1]"})
        with gatewayed(tmp_path, monkeypatch, tiny_backend, tier(large) + ROUTE) as on:
            _, events = on.stream(quoted)
            calls = [e["choices"][0]["delta"].get("tool_calls") or [] for e in events if e]
            arguments = "".join(c["function"]["arguments"] for call in calls for c in call)
            assert json.loads(arguments)["seen"] in quoted
            assert "[SECRET_1]" not in arguments
            large.delta_key = "content"
            form = {"response_format": {"type": "json_object"}}
            whole = on.ask(quoted, **form).json()["choices"][0]["message"]["content"]
            assert json.loads(whole) == json.loads(arguments)


def test_without_restore_the_client_gets_the_placeholders(tmp_path, monkeypatch, tiny_backend):
    with upstream() as large:
        routes = tier(large) + ROUTE.replace("{}", "{ restore = false, kinds = ['email'] }")
        with gatewayed(tmp_path, monkeypatch, tiny_backend, routes) as on:
            said = on.ask("ann@example.com, 10.20.30.40").json()["choices"][0]["message"]
            assert said["content"] == "[EMAIL_1], 10.20.30.40"


def test_the_allow_list_and_own_patterns(tmp_path, monkeypatch, tiny_backend):
    (tmp_path / "own.toml").write_text("[[pattern]]\nkind = 'staff'\nregex = 'staff (\\d+)'\n")
    with upstream() as large:
        routes = tier(large) + ROUTE.replace("{}", '{ allow = ["a@b.de"], patterns = "own.toml" }')
        with gatewayed(tmp_path, monkeypatch, tiny_backend, routes) as on:
            on.ask("a@b.de, c@d.de, staff 12")
            assert large.last["messages"][0]["content"] == "a@b.de, [EMAIL_1], staff [STAFF_1]"


def test_names_that_the_model_cannot_list_do_not_leave(tmp_path, monkeypatch, tiny_backend):
    """A random model's lists do not come to an end: the text could not be checked."""
    with upstream() as large:
        routes = tier(large) + ROUTE.replace("{}", '{ entities = ["person"] }')
        with gatewayed(tmp_path, monkeypatch, tiny_backend, routes) as on:
            monkeypatch.setattr("vedette.gateway.hide.answer_item", _fails)
            response = on.ask("Ann was here.")
            assert response.json()["error"]["code"] == "redaction_failed"
            assert "has not left" in response.json()["error"]["message"]
        assert large.bodies == []


def _fails(*_):
    from vedette.errors import ConstraintFailed

    raise ConstraintFailed("the names could not be listed whole")


def test_neither_ledger_nor_log_has_a_prompt(on, caplog):
    caplog.set_level("DEBUG")
    on.ask(TEXT)
    on.stream(TEXT)
    told = json.dumps(on.rows) + caplog.text
    for value in (*PLANTED.values(), "Mail "):
        assert value not in told
