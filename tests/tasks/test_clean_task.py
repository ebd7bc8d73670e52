"""The clean task: rules first, a model only for what is left, every change listed."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import WordBackend, completion, scores, user_text

from vedette.errors import CapabilityMissing, ConstraintFailed, InputError, SchemaError
from vedette.tasks.clean import Clean, Defaults
from vedette.types import Item, Request, ScoreRequest

SCHEMA = {
    "type": "object",
    "properties": {
        "day": {"type": ["string", "null"], "format": "date", "x-from": "Order date"},
        "price": {"x-clean": "money"},
        "size": {"enum": ["S", "M", "L", None], "x-synonyms": {"L": ["large"]}},
        "count": {"type": "integer", "minimum": 0},
        "paid": {"type": "boolean", "description": "Has it\n been paid?"},
    },
    "required": ["day"],
}
ROW = {"Order date": "2026-03-04", "price": "€5", "size": "m", "count": 3, "paid": "yes"}


def run(columns, respond=None, schema=SCHEMA, text="", backend=None, **options):
    """The value, and the requests that were made."""
    steps = Clean(schema, **options).steps(
        Item(id="1", text=text, columns=columns), backend or WordBackend()
    )
    asked = []
    try:
        asks = next(steps)
        while True:
            asked += asks
            asks = steps.send([respond(ask) for ask in asks])
    except StopIteration as end:
        return end.value.value, asked


def copies(part):
    """A model that copies this part for whatever is asked, or chooses the last choice but one."""

    def respond(ask):
        assert isinstance(ask, Request)
        (name,) = json.loads(ask.constraint.source)["properties"]
        return completion({name: part})

    return respond


def chooses(name, probability=0.9):
    def respond(ask):
        assert isinstance(ask, ScoreRequest)
        import math

        rest = (1 - probability) / (len(ask.choices) - 1)
        return scores(*(math.log(probability if c == name else rest) for c in ask.choices))

    return respond


def only(value, kind):
    (entry,) = value[kind]
    return entry


def test_rows_that_rules_settle_ask_nobody_and_every_change_is_listed():
    value, asked = run(ROW)
    assert asked == []
    assert value["value"] == {
        "day": "2026-03-04",
        "price": {"amount": 5, "currency": "EUR"},
        "size": "M",
        "count": 3,
        "paid": True,
    }
    assert value["changes"] == [
        {
            "field": "price",
            "from": "€5",
            "to": {"amount": 5, "currency": "EUR"},
            "by": "rule:money",
        },
        {"field": "size", "from": "m", "to": "M", "by": "rule:choice"},
        {"field": "paid", "from": "yes", "to": True, "by": "rule:boolean"},
    ]
    assert value["unsettled"] == []


def test_what_is_cleaned_stays_clean():
    value, _ = run(ROW)
    again = {**value["value"], "Order date": value["value"]["day"], "price": "EUR 5"}
    assert run(again)[0]["value"] == value["value"]


def test_a_missing_value_is_null_and_one_that_is_required_is_told():
    value, asked = run({"Order date": " ", "price": "n/a", "size": None})
    assert asked == []
    assert set(value["value"].values()) == {None}
    assert only(value, "changes") == {
        "field": "price",
        "from": "n/a",
        "to": None,
        "by": "rule:missing",
    }
    assert only(value, "unsettled") == {"field": "day", "from": " ", "reason": "missing"}


def test_an_ambiguous_value_is_told_with_its_readings_and_no_model_is_asked():
    value, asked = run({**ROW, "Order date": "03/04/2026"})
    assert asked == []
    assert value["value"]["day"] is None
    assert only(value, "unsettled") == {
        "field": "day",
        "from": "03/04/2026",
        "reason": "ambiguous",
        "candidates": ["2026-03-04", "2026-04-03"],
    }
    value, _ = run({**ROW, "Order date": "03/04/2026"}, defaults=Defaults(order="dmy"))
    assert value["value"]["day"] == "2026-04-03"


def test_the_model_copies_a_part_and_the_rule_reads_it():
    text = "paid on 3 March 2026, in cash"
    value, (ask,) = run({**ROW, "Order date": text}, copies("3 March 2026"))
    assert value["value"]["day"] == "2026-03-03"
    change = value["changes"][0]
    assert (change["by"], change["copied"], change["rule"]) == ("model", "3 March 2026", "date")
    assert ask.constraint.input == text
    assert text in user_text(ask)
    answers = jsonschema_rs.validator_for(json.loads(ask.constraint.source))
    assert answers.is_valid({"day": None})


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (None, "the model found nothing in it"),
        ("4 March 2026", "which is not there"),
        ("in cash", "not a date"),
    ],
)
def test_what_the_model_copies_must_be_there_and_hold(part, said):
    value, _ = run({**ROW, "Order date": "on 3 March 2026, in cash"}, copies(part))
    assert value["value"]["day"] is None
    assert said in only(value, "unsettled")["reason"]


def test_a_part_of_a_number_is_never_taken_for_the_number():
    value, _ = run({**ROW, "count": "about 1 234 of them"}, copies("234"))
    assert "part of a number" in only(value, "unsettled")["reason"]
    value, _ = run({**ROW, "count": "about 12 of them"}, copies("12"))
    assert value["value"]["count"] == 12


def test_a_currency_that_stands_beside_what_was_copied_is_not_replaced_by_the_default():
    defaults = Defaults(currency="USD")
    value, _ = run({**ROW, "price": "EUR, about 12.50"}, copies("12.50"), defaults=defaults)
    assert only(value, "unsettled")["reason"] == "no currency"


def test_the_model_chooses_among_the_values_of_an_enum_or_none():
    value, (ask,) = run({**ROW, "size": "extra big"}, chooses("L"))
    assert ask.choices == ("S", "M", "L", "unknown")
    assert value["value"]["size"] == "L"
    change = next(one for one in value["changes"] if one["field"] == "size")
    assert (change["by"], change["probability"]) == ("model", 0.9)
    value, _ = run({**ROW, "size": "blue"}, chooses("unknown"))
    assert "says so too" in only(value, "unsettled")["reason"]
    value, _ = run({**ROW, "size": "extra big"}, chooses("L", 0.6))
    assert "not sure" in only(value, "unsettled")["reason"]
    value, _ = run({**ROW, "size": "extra big"}, chooses("L", 0.6), sure_above=0.5)
    assert value["value"]["size"] == "L"


def test_yes_and_no_are_chosen_with_the_field_explained():
    value, (ask,) = run({**ROW, "paid": "already settled"}, chooses("yes"))
    assert value["value"]["paid"] is True
    assert "paid (Has it been paid?)" in ask.prompt.messages[0].content


def test_a_number_in_a_chosen_value_must_be_in_the_source():
    schema = {"type": "object", "properties": {"paper": {"enum": ["A4", "A5"]}}}
    value, _ = run({"paper": "the larger one"}, chooses("A4"), schema)
    assert "a number that is not there" in only(value, "unsettled")["reason"]
    value, _ = run({"paper": "DIN 4 size A"}, chooses("A4"), schema)
    assert value["value"]["paper"] == "A4"


def test_a_value_that_does_not_fit_its_schema_is_not_passed_on():
    value, _ = run({**ROW, "count": "-3"}, copies("3"))
    assert value["value"]["count"] is None
    assert only(value, "unsettled")["field"] == "count"


def test_na_is_a_country_or_no_value():
    schema = {"type": "object", "properties": {"land": {"x-clean": "country"}}}
    value, asked = run({"land": "NA"}, None, schema)
    assert (asked, only(value, "unsettled")["candidates"]) == ([], ["NA", None])
    assert run({"land": "n/a"}, None, schema)[0]["value"] == {"land": None}
    assert run({"land": "Namibia"}, None, schema)[0]["value"] == {"land": "NA"}


def test_rules_only_asks_nobody_whatever_is_left():
    value, asked = run({**ROW, "Order date": "soon", "size": "huge"}, rules_only=True)
    assert asked == []
    assert [entry["field"] for entry in value["unsettled"]] == ["day", "size"]


def test_several_open_values_of_a_row_are_asked_about_side_by_side():
    def respond(ask):
        return chooses("L")(ask) if isinstance(ask, ScoreRequest) else copies("1 May 2026")(ask)

    value, asked = run({**ROW, "Order date": "by 1 May 2026", "size": "huge"}, respond)
    assert len(asked) == 2
    assert value["unsettled"] == []


def test_a_plain_text_is_looked_through_for_every_field():
    schema = {
        "type": "object",
        "properties": {"day": {"format": "date", "type": "string"}, "price": {"x-clean": "money"}},
    }

    def respond(ask):
        return copies("3 May 2026" if "day" in ask.constraint.source else "EUR 5")(ask)

    value, asked = run({}, respond, schema, text="EUR 5 paid on 3 May 2026")
    assert len(asked) == 2
    assert value["value"] == {"day": "2026-05-03", "price": {"amount": 5, "currency": "EUR"}}


def test_a_value_too_long_for_the_model_is_left_open_and_the_rest_is_answered():
    value, asked = run({**ROW, "Order date": "word " * 5000})
    assert asked == []
    assert "too long for the model" in only(value, "unsettled")["reason"]
    assert value["value"]["count"] == 3


def test_rows_and_backends_that_cannot_do_are_refused():
    with pytest.raises(InputError, match="none of the fields 'Order date'"):
        run({"other": 1})
    with pytest.raises(CapabilityMissing):
        run({**ROW, "size": "huge"}, backend=WordBackend(can_score=False))
    with pytest.raises(CapabilityMissing):
        run({**ROW, "Order date": "soon"}, backend=WordBackend(can_constrain=False))
    with pytest.raises(ConstraintFailed):
        run({**ROW, "Order date": "soon"}, lambda ask: completion("{"))


ALL_KINDS = {
    "type": "object",
    "properties": {
        **{
            kind: {"x-clean": kind}
            for kind in ("text", "date", "datetime", "number", "money", "quantity", "name")
        },
        **{kind: {"x-clean": kind} for kind in ("email", "phone", "country", "boolean")},
        "metres": {"x-clean": {"as": "quantity", "unit": "m"}},
        "size": {"enum": ["S", "M", 3, None]},
    },
}
PARTS = st.sampled_from(
    [
        *(
            "3",
            "12",
            "2026",
            "00",
            "1,234",
            ".5",
            "1e999",
            "9e-999",
            "+49",
            "٣",
            "²",
            "½",
            "十",
            "万",
        ),
        *(
            "亿",
            "年",
            "月",
            "日",
            "点",
            "〇",
            "March",
            "mai",
            "at",
            "pm",
            "Z",
            "+99:99",
            "€",
            "$",
            "元",
        ),
        *(
            "kg",
            "m2",
            "ft",
            "'",
            '"',
            "%",
            "@",
            "a.de",
            "<",
            ">",
            "(",
            ")",
            "-",
            "/",
            ".",
            ",",
            ":",
            " ",
        ),
        *("Doe", "van", "NA", "x", "ß", "İ", "\u200b", "\ud800", "\n", "ext", "k"),
    ]
)
ANY_KIND = Clean(ALL_KINDS, rules_only=True)


@settings(max_examples=1000)
@given(st.lists(PARTS, max_size=7).map("".join) | st.text(max_size=12))
def test_no_text_breaks_a_rule_and_what_is_settled_stays_as_it_is(text):
    item = Item(id="1", text="", columns=dict.fromkeys(ALL_KINDS["properties"], text))
    with pytest.raises(StopIteration) as end:
        next(ANY_KIND.steps(item, WordBackend()))
    values = end.value.value.value["value"]
    strings = {name: value for name, value in values.items() if isinstance(value, str)}
    if strings:
        with pytest.raises(StopIteration) as end:
            next(ANY_KIND.steps(Item(id="1", text="", columns=strings), WordBackend()))
        again = end.value.value.value["value"]
        assert {name: again[name] for name in strings} == strings


@pytest.mark.parametrize(
    "part", ["1", "1,", "1.1", "3 ", "十", "a@", "a.", "1 a", "5 ft ", "+1", "<", "年1"]
)
@pytest.mark.parametrize("length", [499, 100_000])
def test_a_long_value_is_answered_for_every_kind(part, length):
    text = (part * length)[:length] + "!"
    item = Item(id="1", text="", columns=dict.fromkeys(ALL_KINDS["properties"], text))
    with pytest.raises(StopIteration) as end:
        next(ANY_KIND.steps(item, WordBackend()))
    assert end.value.value.value["value"]["text"] is not None


def test_a_list_is_no_text_and_no_model_is_asked():
    value, asked = run({**ROW, "Order date": ["2026-03-04"]})
    assert asked == []
    assert only(value, "unsettled")["reason"] == "not a text"


def prop(**keywords):
    return {"type": "object", "properties": {"a": keywords}}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array"}, "schema of an object with properties"),
        ({"properties": {}}, "nothing to clean"),
        (prop(), "does not say what it is"),
        (prop(type="array"), "no rule for the type array"),
        (prop(type=["string", "integer"]), "no rule for the type integer or string"),
        (prop(**{"x-clean": "dat"}), "is date meant"),
        (prop(**{"x-clean": {"as": "date", "ordre": "dmy"}}), "is order meant"),
        (prop(**{"x-clean": {"as": "date", "decimal": ","}}), "'decimal' is not an option of date"),
        (prop(**{"x-clean": {"as": "date", "order": "dym"}}), "order is 'dym'"),
        (prop(**{"x-clean": {"as": "quantity", "unit": "furlong"}}), "unit is 'furlong'"),
        (prop(**{"x-claen": "date", "type": "string"}), "is x-clean meant"),
        (prop(**{"type": "string", "x-verbatim": True}), "x-verbatim has no effect"),
        (prop(**{"type": "string", "x-clean": "money"}), "is a money, which is object"),
        (prop(**{"x-clean": "choice"}), "has no enum"),
        (prop(**{"type": "string", "x-synonyms": {}}), "says nothing without an enum"),
        (prop(**{"enum": ["a"], "x-synonyms": {"b": ["c"]}}), "'b', which is not in the enum"),
        (prop(**{"enum": ["a"], "x-synonyms": {"a": "c"}}), "must be a list of words"),
        (prop(**{"type": "string", "x-from": 3}), "name of a field"),
        (prop(type="sting"), "sting"),
    ],
)
def test_a_schema_that_cannot_be_meant_is_refused(schema, said):
    with pytest.raises(SchemaError) as caught:
        Clean(schema)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Clean(prop(type="string"), Defaults(order="dmy")), "no field of the schema can"),
        (lambda: Clean(SCHEMA, rules_only=True, instructions="x"), "none is asked"),
        (lambda: Clean(SCHEMA, sure_above=1), "sure_above is 1"),
        (lambda: Defaults(pivot=100), "pivot is 100"),
        (lambda: Defaults(currency="Euro"), "currency is 'Euro'"),
        (lambda: Defaults(country="de"), "country is 'de'"),
        (lambda: Defaults(zone="CET"), "zone is 'CET'"),
        (lambda: Defaults.of({"ordre": "dmy"}), "'ordre' is no default"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_a_library_that_is_not_installed_is_named_with_how_to_get_it(monkeypatch):
    monkeypatch.setattr("vedette.tasks.clean.fields.find_spec", lambda name: None)
    with pytest.raises(CapabilityMissing, match="needs babel") as caught:
        Clean(SCHEMA)
    assert "vedette[clean]" in caught.value.hint
    Clean(prop(type="number"))


def test_refs_are_followed_and_a_field_says_more_than_the_defaults():
    schema = {
        "type": "object",
        "properties": {
            "us": {"x-clean": {"as": "date", "order": "mdy"}},
            "eu": {"$ref": "#/$defs/day"},
        },
        "$defs": {"day": {"type": ["string", "null"], "format": "date"}},
    }
    value, _ = run(
        {"us": "03/04/2026", "eu": "03/04/2026"}, None, schema, defaults=Defaults(order="dmy")
    )
    assert value["value"] == {"us": "2026-03-04", "eu": "2026-04-03"}


PHONE = {"type": "object", "properties": {"phone": {"x-clean": "phone"}}}


@pytest.mark.parametrize(
    ("schema", "options", "said"),
    [
        (SCHEMA, {"defaults": Defaults(currency="XXZ")}, "currency is 'XXZ', which is no code"),
        (PHONE, {"defaults": Defaults(country="UK")}, "country is 'UK', which is no country"),
        (SCHEMA, {"sure_above": 0.9}, "sure_above is about the model, and none is asked"),
    ],
)
def test_what_could_never_have_an_effect_is_refused(schema, options, said):
    with pytest.raises(InputError, match=said):
        Clean(schema, rules_only=True, **options)


def test_a_required_field_that_is_no_property_is_refused():
    with pytest.raises(SchemaError, match="required has 'phon', which is no property"):
        Clean({**PHONE, "required": ["phon"]})
