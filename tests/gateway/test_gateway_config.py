"""`[gateway]`: every mistake is one sentence that names the key."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from vedette import config
from vedette.backends.none import NoModel
from vedette.errors import CapabilityMissing, FileError, InputError
from vedette.gateway.open import configured, open_gateway
from vedette.gateway.read import read_gateway
from vedette.gateway.report import since_s
from vedette.gateway.tables import GatewayTable

WHERE = Path("/etc/vedette.toml")
GOOD = """
[tiers.large]
base_url = "https://api.example.com/v1"
model = "big"
api_key = "${env.BIG_KEY}"
price = [1, 2.5]
[tiers.spare]
base_url = "http://127.0.0.1:8080/v1"
model = "spare"
[routes.auto]
match = ["auto", "smart"]
guard = { policies = ["jailbreak"], action = "note" }
redact = { kinds = ["email"], entities = { person = "people" } }
compress = { budget_tokens = 2000 }
call = ["large", "spare", "local"]
[routes.auto.decide]
red_lines = true
[[routes.auto.decide.tasks]]
labels = ["a", "b"]
thresholds = "t.json"
[routes.private]
call = ["local"]
cache = true
"""


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("BIG_KEY", "sk-secret")


def read(text: str) -> GatewayTable:
    return read_gateway(tomllib.loads(text), WHERE)


def test_all_that_there_is_can_be_written():
    table = read(GOOD)
    assert table.routes["auto"].names("auto") == ["auto", "smart"]
    assert table.routes["private"].names("private") == ["private"]
    assert table.tiers["large"].api_key.get_secret_value() == "sk-secret"
    assert "sk-secret" not in repr(table)


# what is written otherwise than in GOOD, how, and what is said of it
MISTAKES = [
    ("[tiers.spare]", "[tier.spare]", "unknown key tier in [gateway]"),
    ('base_url = "http:', 'base_ulr = "http:', "in [gateway.tiers.spare] of /etc/vedette.toml"),
    ('base_url = "http:', 'base_ulr = "http:', "(Did you mean base_url?)"),
    ("policies", "polices", "unknown key polices in [gateway.routes.auto.guard]"),
    ("red_lines", "redlines", "unknown key redlines in [gateway.routes.auto.decide]"),
    ("labels", "lables", "unknown key lables in [gateway.routes.auto.decide.tasks.0]"),
    ("cache = true", "frob = 1", "(Valid are match, guard,"),
    ('"note"', '"warn"', "gateway.routes.auto.guard.action in /etc/vedette.toml: it should be"),
    ("2000", '"2000"', "gateway.routes.auto.compress.budget_tokens"),
    ("2000", "1", "greater than or equal to 16"),
    ("[1, 2.5]", "[1]", "gateway.tiers.large.price"),
    ("[1, 2.5]", "[1, -2]", "gateway.tiers.large.price.1"),
    ("2.5]", "nan]", "gateway.tiers.large.price.1"),
    ('call = ["large", "spare", "local"]', "", "gateway.routes.auto.call is missing"),
    ('["large", "spare", "local"]', "[]", "gateway.routes.auto.call"),
    ('"spare", "local"]', '"spear"]', "gateway.routes.auto.call.1 in /etc/vedette.toml: there is"),
    ('"spare", "local"]', '"spear"]', "there is no tier spear (Did you mean spare?)"),
    ('"spare", "local"]', '"large"]', "has a tier twice"),
    ('"large", "spare", "local"]', '"local"]', "there is nothing to decide"),
    ("[tiers.spare]", "[tiers.local]", "the name local is taken"),
    ('"smart"', '"private"', "the route auto answers to private already"),
    ("https://api.example.com/v1", "api.example.com", "gateway.tiers.large.base_url"),
    ("https://api", "https://me:pw@api", "gateway.tiers.large.base_url"),
    ("${env.BIG_KEY}", "sk-secret", "holds a key itself"),
    ("${env.BIG_KEY}", "${env.NO_SUCH}", "takes the variable NO_SUCH, which is not set"),
    ('"big"', '"${BIG}"', "a variable is written ${env.NAME}"),
    ('"]\ncache', '"]\nredact = { entities = ["person"] }\ncache', "what a model finds"),
    ("[routes.private]", "[routes]", "gateway.routes"),
]


@pytest.mark.parametrize(("old", "new", "words"), MISTAKES)
def test_a_mistake_is_named(old, new, words):
    assert old in GOOD
    with pytest.raises(InputError) as refused:
        read(GOOD.replace(old, new, 1))
    assert words in str(refused.value)
    assert "sk-secret" not in str(refused.value)


def test_the_example_is_right():
    path = Path(__file__).parents[2] / "examples" / "gateway.toml"
    table = read_gateway(tomllib.loads(path.read_text())["gateway"], path)
    assert [*table.routes] == ["auto", "private"]


def test_no_routes_are_no_gateway():
    with pytest.raises(InputError, match=r"gateway\.routes is missing"):
        read("")


def test_a_question_names_tiers_that_there_are():
    question = (
        '[routes.auto.decide.question]\nask = "A? x|y"\nthresholds = "t"\ntiers = { x = "lagre" }'
    )
    with pytest.raises(InputError, match=r"question\.tiers\.x .*Did you mean large"):
        read(f"{GOOD}\n{question}")


def opened(tmp_path, monkeypatch, text: str, **flags):
    (tmp_path / "vedette.toml").write_text(text)
    monkeypatch.setenv("VEDETTE_CONFIG", str(tmp_path / "vedette.toml"))
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    settings = config.load(**flags)
    table = configured(settings)
    assert table is not None
    return open_gateway(table, settings, NoModel(), "small")


TASK = '[[gateway.routes.auto.decide.tasks]]\nthresholds = "t.json"\n'
START = (
    '[gateway.tiers.large]\nbase_url = "https://api.example.com/v1"\nmodel = "m"\n'
    '[gateway.routes.auto]\ncall = ["large"]\n'
)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (START + "redact = { kinds = ['emial'] }", InputError, "no kind 'emial'"),
        (START + "guard = { policies = ['jailbrake'] }", InputError, "no policy 'jailbrake'"),
        (START + "redact = { patterns = 'none.toml' }", FileError, "none.toml"),
        (START + TASK, InputError, "decide.tasks.0 must have one of ask, labels and"),
        (START + TASK + "labels = ['a', 'b']", CapabilityMissing, "can score choices"),
        (START + "match = 'small'", InputError, "answers to small, which is the served model"),
    ],
)  # fmt: skip
def test_what_only_opening_shows(tmp_path, monkeypatch, text, kind, words):
    with pytest.raises(kind) as refused:
        opened(tmp_path, monkeypatch, text)
    assert words in str(refused.value)


def test_offline_forbids_tiers_on_other_machines(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="offline forbids the network"):
        opened(tmp_path, monkeypatch, START, offline=True)


def test_a_route_that_redacts_wants_its_model_on_this_machine(tmp_path, monkeypatch):
    far = "openai:https://far.example.com/v1#m"
    with pytest.raises(InputError, match="redacts what leaves this machine"):
        opened(tmp_path, monkeypatch, START + "redact = {}", backend=far)
    opened(tmp_path, monkeypatch, START + "redact = {}").close_files()


def test_a_gateway_is_no_setting_and_settings_are_still_strict(tmp_path, monkeypatch):
    path = tmp_path / "vedette.toml"
    monkeypatch.setenv("VEDETTE_CONFIG", str(path))
    path.write_text("width = 3\n[gateway.routes.a]\ncall = ['local']\n")
    assert config.load().width == 3
    assert config.section("gateway") == {"routes": {"a": {"call": ["local"]}}}
    path.write_text("gateway = 3\n")
    with pytest.raises(InputError, match="it must be a table"):
        config.section("gateway")
    path.write_text("[gatevay]\n")
    with pytest.raises(InputError, match="unknown setting gatevay"):
        config.load()
    assert config.section("gateway") is None


def test_since_is_a_time():
    assert since_s("") == 0
    assert since_s("1970-01-02") == 86_400
    assert since_s("1970-01-01T01:00:00+01:00") == 0
    assert since_s("2h") > since_s("1d") > 1e9
    for wrong in ("soon", "24", "h"):
        with pytest.raises(InputError, match="no time to begin at"):
            since_s(wrong)
