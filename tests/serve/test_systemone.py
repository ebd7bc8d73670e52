"""The System One contract (`POST /v1/systemone`), on a chat model that knows nothing of it."""

from __future__ import annotations

import json
import math

import httpx2
import pytest
from served import served

from vedette.backends.around import Around
from vedette.backends.none import NoModel
from vedette.decide.calibration import Promise, calibrate
from vedette.decide.question import parse_questions
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions
from vedette.serve.systemone_request import state_text
from vedette.tasks.calibrations import Calibrations
from vedette.tasks.decide import Decide

ROUTE = {
    "type": "choice",
    "instructions": "Which team?",
    "criteria": {"billing": "payments", "shipping": None, "technical": {"about": "errors"}},
}
URGENCY = {
    "type": "score",
    "instructions": {"ask": "How urgent?"},
    "criteria": ["can wait", "this week", "today"],
}
ANGRY = {"type": "noul", "instructions": "Is the customer angry?"}
STATE = "the server failed again. " * 8


JSON = {"content-type": "application/json; charset=utf-8"}


def body_of(**fields):
    return {"state": STATE, "questions": {"route": ROUTE, "urgency": URGENCY, "angry": ANGRY}} | {
        **fields
    }


def ask(http, path="/v1/systemone", **fields):
    return http.post(path, json=body_of(**fields))


def one(question):
    """A body with one question."""
    return {"questions": {"q": question}}


def fault_of(reply):
    """The error of a reply, whose form is held here."""
    assert reply.json().keys() == {"error"}
    error = reply.json()["error"]
    assert error.keys() == {"code", "message", "type"}
    assert error["code"] == reply.status_code
    return error["type"], error["message"]


def test_every_kind_of_question_is_answered_in_its_form_and_order(http):
    reply = ask(http, model="any alias")
    assert reply.status_code == 200
    assert reply.json().keys() == {"model", "answers", "usage"}
    assert reply.json()["model"] == "tiny"
    answers = reply.json()["answers"]
    assert list(answers) == ["route", "urgency", "angry"]

    route = answers["route"]
    assert route.keys() == {"type", "choice", "probabilities", "confidence"}
    shares = route["probabilities"]
    assert list(shares) == list(ROUTE["criteria"])
    assert math.fsum(shares.values()) == pytest.approx(1, abs=1e-4)
    assert route["choice"] == max(shares, key=shares.get)
    best = max(shares.values())
    assert route["confidence"] == pytest.approx(max(0, (best - 1 / 3) / (2 / 3)), abs=1e-6)

    urgency = answers["urgency"]
    assert urgency.keys() == {"type", "score", "legend", "probabilities", "confidence"}
    assert urgency["legend"] == {"0": "can wait", "1": "this week", "2": "today"}
    levels = [urgency["probabilities"][str(i)] for i in range(3)]
    assert math.fsum(levels) == pytest.approx(1, abs=1e-4)
    assert urgency["score"] == pytest.approx(levels[1] + 2 * levels[2], abs=1e-6)
    mode = levels.index(max(levels))
    spread = sum(p * abs(i - mode) for i, p in enumerate(levels)) / (2 / 3)
    assert urgency["confidence"] == pytest.approx(min(1, max(0, 1 - spread)), abs=1e-6)

    assert answers["angry"].keys() == {"type", "noul"}
    assert 0 <= answers["angry"]["noul"] <= 1


def test_the_aliases_answer_the_same(http):
    first, *others = (
        ask(http, path).json()
        for path in ("/v1/systemone", "/v1/decisions", "/api/alpha/decisions")
    )
    for other in others:
        assert other["usage"] == first["usage"]
        for name in ("noul", "score"):
            (first_value, value) = (
                next(one[name] for one in reply["answers"].values() if name in one)
                for reply in (first, other)
            )
            assert value == pytest.approx(first_value, abs=1e-3)


@pytest.mark.parametrize("model", [None, "", "jev-latest"])
def test_any_model_may_be_named(http, model):
    assert ask(http, model=model).json()["model"] == "tiny"


def test_the_shared_state_is_billed_once_and_a_warm_cache_changes_nothing(http):
    def tokens(*names):
        wanted = {name: body_of()["questions"][name] for name in names}
        usage = ask(http, questions=wanted).json()["usage"]
        assert usage.keys() == {"input_tokens", "output_tokens"}
        assert usage["output_tokens"] == 0
        return usage["input_tokens"]

    alone = tokens("route"), tokens("angry")
    both = tokens("route", "angry")
    assert max(alone) < both < sum(alone)
    assert tokens("angry", "route") == both == tokens("route", "angry")
    n_state = http.post("/tokenize", json={"content": STATE}).json()["tokens"]
    assert sum(alone) - both >= len(n_state)  # the state, and what stands before it


class Counting(Around):
    """Counts what is asked of the backend."""

    n_asked = 0

    def answered(self, request):
        self.n_asked += 1
        return super().answered(request)


def test_what_the_model_prefers_anyway_is_measured_once_for_a_set_of_questions(tiny_backend):
    backend = Counting(tiny_backend)
    with served(create_app(backend, ServeOptions(model="tiny"))) as url:
        counts = []
        for state in ("hello", "the server", "failed"):
            assert httpx2.post(f"{url}/v1/systemone", json=body_of(state=state)).status_code == 200
            counts.append(backend.n_asked)
    assert [counts[1] - counts[0], counts[2] - counts[1]] == [3, 3]
    assert counts[0] > 3


def test_many_options_still_sum_to_one(http):
    criteria = dict.fromkeys(f"option {i}" for i in range(255))
    question = {"type": "choice", "instructions": "Which?", "criteria": criteria}
    answer = ask(http, **one(question)).json()["answers"]["q"]
    assert len(answer["probabilities"]) == 255
    assert math.fsum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-4)


def test_a_single_option_is_sure(http):
    question = {"type": "choice", "instructions": "Which?", "criteria": {"only": None}}
    answer = ask(http, **one(question)).json()["answers"]["q"]
    assert (answer["choice"], answer["confidence"]) == ("only", 1.0)


def test_the_id_of_a_question_is_hidden_from_the_model(http):
    first = ask(http, questions={"a": ANGRY}).json()["answers"]["a"]
    other = ask(http, questions={"questions": ANGRY}).json()["answers"]["questions"]
    assert other["noul"] == pytest.approx(first["noul"], abs=1e-4)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("服务器坏了", "服务器坏了"),
        ({"订单": "迟了"}, '{"订单": "迟了"}'),
        (" ", '" "'),
        ({"a": 1}, '{"a": 1}'),
        ([1, "b"], '[1, "b"]'),
        ([{"role": "user", "content": "hi "}, {"role": "assistant", "content": [
            {"type": "text", "text": "yes"}, {"type": "text", "text": "sir"}]}],
         "user: hi\nassistant: yes\nsir"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "user: hi"),
        ({"messages": [], "n": 1}, '{"messages": [], "n": 1}'),
    ],
)  # fmt: skip
def test_a_state_is_a_text_an_object_or_a_chat(http, state, text):
    assert state_text(state) == text
    assert ask(http, state=state).status_code == 200


FAULTS = [
    ({"state": None}, '"state" must be provided'),
    ({"state": 3}, '"state" must be a string, object, or array'),
    ({"questions": None}, '"questions" must be a non-empty object'),
    ({"questions": {}}, '"questions" must be a non-empty object'),
    ({"questions": []}, '"questions" must be a non-empty object'),
    ({"questions": {"": ANGRY}}, '"questions" has an empty id'),
    (one(3), "questions.q: must be an object"),
    (one({**ANGRY, "type": "maybe"}), 'questions.q: "type" must be one of: choice, score, noul'),
    (one({**ROUTE, "criteria": {}}), 'questions.q: "criteria" must be a non-empty object'),
    (one({**ROUTE, "criteria": None}), 'questions.q: "criteria" must be a non-empty object'),
    (one({**ROUTE, "criteria": ["a"]}), 'questions.q: "criteria" must be a non-empty object'),
    (one({**URGENCY, "criteria": ["a"]}), "must be an array of 2 to 10 levels"),
    (one({**URGENCY, "criteria": list("abcdefghijk")}), "must be an array of 2 to 10 levels"),
    (one({**URGENCY, "criteria": {"a": None}}), "must be an array of 2 to 10 levels"),
    (one({**ANGRY, "criteria": {"maybe": "x"}}), 'object with "true" and "false"'),
    (one({**ROUTE, "criteria": dict.fromkeys(map(str, range(256)))}),
     '"criteria" has 256 options, at most 255 are supported'),
    *[(one({**ANGRY, "instructions": value}),
       'questions.q: "instructions" must be a non-empty string, object, or array')
      for value in ("", {}, [], 3, True, None)],
    ({"videos": ["x"]}, '"videos" is not supported'),
    ({"videos": {}}, '"videos" is not supported'),
    ({"stream": True}, '"stream" is not supported'),
    ({"model": 3}, '"model" must be a string'),
    ({"images": {}}, '"images" must be an array'),
    ({"images": ["https://x/y.png"]}, '"images" must be an array of data URLs'),
    ({"images": ["data:image/png;base64,AA=="] * 9}, "at most 8 are supported"),
    ({"images": ["data:image/png;base64,AA=="]}, "this route shows a model texts only"),
    ({"state": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
     "this route shows a model texts only"),
    ({"statee": 1}, '"statee" is not a field of the request (did you mean state?)'),
    ({"vedette": 1}, '"vedette" must be an object'),
    ({"vedette": {"confidence": "x"}}, "must be one of: typesafe, entropy"),
    ({"vedette": {"priors": "none"}}, "did you mean prior?"),
    ({"vedette": {"confidense": "entropy"}}, "did you mean confidence?"),
    ({"vedette": {"questions": {}}}, "there is no option 'questions'"),
    ({"vedette": {"thresholds": {"format": "x"}}}, "its format is 'x'"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "message"), FAULTS, ids=range(len(FAULTS)))
def test_what_is_wrong_is_422_in_the_words_of_the_contract(http, fields, message):
    reply = ask(http, **fields)
    assert reply.status_code == 422
    kind, said = fault_of(reply)
    assert kind == "unprocessable_entity_error"
    assert message in said


NEUTRAL = [{"videos": None}, {"videos": []}, {"images": []}, {"images": None}, {"stream": False}]


@pytest.mark.parametrize("fields", NEUTRAL)
def test_neutral_fields_change_nothing(http, fields):
    assert ask(http, **fields).status_code == 200


@pytest.mark.parametrize("raw", [b"", b"{", b"[1,", b"\xff"])
def test_a_malformed_body_is_400(http, raw):
    reply = http.post("/v1/systemone", content=raw, headers=JSON)
    assert (reply.status_code, fault_of(reply)[0]) == (400, "invalid_request_error")


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_that_is_not_called_json_is_400(http, kind):
    """A web page can send these without being allowed to."""
    headers = {"content-type": kind} if kind else {}
    reply = http.post("/v1/systemone", content=json.dumps(body_of()).encode(), headers=headers)
    assert (reply.status_code, fault_of(reply)[0]) == (400, "invalid_request_error")


def test_nesting_has_a_limit(http):
    def nested(depth):
        state = json.loads("[" * depth + "]" * depth)
        return http.post("/v1/systemone", json=body_of(state=state))

    assert nested(31).status_code == 200  # the body itself is one more
    assert fault_of(nested(32)) == ("unprocessable_entity_error", '"body" is nested too deeply')
    raw = b'{"state":' + b"[" * 5000 + b"]" * 5000 + b"}"
    reply = http.post("/v1/systemone", content=raw, headers=JSON)
    assert (reply.status_code, fault_of(reply)[1]) == (422, '"body" is nested too deeply')


def test_a_state_over_the_context_is_400_with_both_sizes(http):
    reply = ask(http, state="日志 " * 4000)
    kind, message = fault_of(reply)
    assert (reply.status_code, kind) == (400, "exceed_context_size_error")
    assert message.startswith("request (")


def test_too_many_questions_and_too_many_tokens_are_413_without_retry_after(http):
    many = ask(http, questions={str(i): ANGRY for i in range(4097)})
    long = {"type": "noul", "instructions": "failed connection " * 150}
    tokens = ask(http, questions={str(i): long for i in range(400)})
    for reply in (many, tokens):
        assert (reply.status_code, fault_of(reply)[0]) == (413, "request_too_large_error")
        assert "retry-after" not in reply.headers
    assert "The request renders" in fault_of(tokens)[1]


def test_a_full_server_is_429_with_retry_after(tiny_backend):
    app = create_app(tiny_backend, ServeOptions(model="tiny", max_requests=1))
    long = {"model": "tiny", "prompt": "level", "max_tokens": 3500, "stream": True}
    with served(app) as url, httpx2.stream("POST", f"{url}/v1/completions", json=long) as busy:
        pieces = busy.iter_raw()  # kept: dropped, it would close the connection
        next(pieces)
        reply = httpx2.post(f"{url}/v1/systemone", json=body_of())
    assert (reply.status_code, fault_of(reply)[0]) == (429, "rate_limit_error")
    assert int(reply.headers["retry-after"]) >= 1


def test_a_backend_that_cannot_score_is_501():
    with served(create_app(NoModel(), ServeOptions(model="none"))) as url:
        reply = httpx2.post(f"{url}/v1/systemone", json=body_of())
    assert (reply.status_code, fault_of(reply)[0]) == (501, "not_supported_error")


def test_what_is_vedettes_own_stands_under_one_key_and_only_if_asked_for(http):
    plain = ask(http).json()
    asked = {"confidence": "entropy", "both_orders": True, "prior": "none", "explain": True}
    reply = ask(http, vedette=asked).json()
    assert reply.keys() == {*plain, "vedette"}
    for name, answer in reply["answers"].items():
        assert answer.keys() == plain["answers"][name].keys()
        assert reply["vedette"]["answers"][name].keys() == {"margin", "mass", "explain"}
    shares = reply["answers"]["route"]["probabilities"].values()
    entropy = -math.fsum(p * math.log(p) for p in shares if p)
    confidence = reply["answers"]["route"]["confidence"]
    assert confidence == pytest.approx(1 - entropy / math.log(3), abs=1e-6)


def test_thresholds_say_what_is_kept_and_are_bound_to_model_and_questions(http, tiny_backend):
    rows = [[-0.1, -2.0], [-2.0, -0.1]] * 40
    found = calibrate(("yes", "no"), rows, [0, 1] * 40, Promise(alpha=0.2))
    questions = {"questions": {"angry": ANGRY}}

    def asked(key):
        known = Calibrations("decide", key, {"angry": found}).as_dict()
        thresholds = json.loads(json.dumps(known))
        return ask(http, **questions, vedette={"thresholds": thresholds})

    wrong = asked("of another model")
    assert wrong.status_code == 422
    assert "another model or prompt" in fault_of(wrong)[1]
    reply = asked(Decide(parse_questions({"angry": ANGRY})).key(tiny_backend))
    own = reply.json()["vedette"]["answers"]["angry"]
    assert own.keys() == {"margin", "mass", "keep"}
    assert own["keep"] in (True, False)
