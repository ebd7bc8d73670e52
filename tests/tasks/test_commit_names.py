"""Names in lines: what looks like a file or an identifier must stand in the diff."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from vedette.engine.constraint.compiler import MOST_LEXER_WORK
from vedette.errors import InputError
from vedette.tasks.commit.diff import File, Hunk
from vedette.tasks.commit.header import Header, breaking_footer, header_fault, parse_header
from vedette.tasks.commit.language import language_of, language_of_subjects, languages
from vedette.tasks.commit.line import line_grammar, shortened, tidy
from vedette.tasks.commit.names import KnownNames, names_in
from vedette.tasks.commit.wrap import MAX_COLUMNS, bullet, columns

FILES = [
    File(
        "src/shop/cart.py",
        hunks=(
            Hunk("def total(self)", ("-    tax_rate = 3", "+    read('rates.json', 'v1.2.0')")),
        ),
    )
]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Read rates.json in src/shop/cart.py.", ["rates.json", "src/shop/cart.py"]),
        ("Keep `the cart` and tax_rate", ["the cart", "tax_rate"]),
        (
            "Call total() with --dry-run, see #12 and v1.2.0",
            ["total", "--dry-run", "#12", "v1.2.0"],
        ),
        ("Let getUser return a UserService", ["getUser", "UserService"]),
        ("Look at https://example.com/x now", ["https://example.com/x"]),
        ("在 config.yaml 中添加选项", ["config.yaml"]),
        ("修复cart.py的错误", ["cart.py"]),
        ("Write to /etc/hosts and ./run", ["/etc/hosts", "./run"]),
        ("Say e.g. what is meant, and/or more; GitHub, 3.5 GB", ["3.5"]),
        ("Plain words (really) don't count: I/O, 50%, half-done", []),
    ],
)
def test_what_looks_like_a_name_is_found(text, names):
    assert names_in(text) == names


@pytest.mark.parametrize(
    ("text", "invented"),
    [
        ("Read rates.json in cart.py, shop/cart.py and total()", []),
        ("Read rates.json in Cart.py", []),
        ("Read prices.json in art.py", ["prices.json", "art.py"]),
        ("Set tax_rates and `def total`", ["tax_rates"]),
        ("Move src/shop/ to src/shops/", ["src/shops/"]),
        ("Ask for v1.2.1, not v1.2.0", ["v1.2.1"]),
    ],
)
def test_names_that_the_diff_does_not_have_are_invented(text, invented):
    assert KnownNames.of_files(FILES).invented(text) == invented


BYTES = LLTokenizer("byte")
LIMITS = LLParserLimits(verbose_errors=False, initial_lexer_fuel=MOST_LEXER_WORK)


def takes(text, code, excluded=(), *, bare=False):
    grammar = line_grammar(languages()[code], excluded, bare=bare)
    matcher = LLMatcher(BYTES, LLMatcher.grammar_from_lark(grammar), log_level=0, limits=LIMITS)
    assert not matcher.is_error(), matcher.get_error()
    tokens = BYTES.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


@pytest.mark.parametrize(
    ("text", "code", "is_taken"),
    [
        ("Add the rates to the cart", "en", True),
        ("add the rates to the cart", "en", False),
        ("The rates are in the cart", "en", False),
        ("Add the rates. Then the cart", "en", False),
        ("Add the rates\nto the cart", "en", False),
        ("Add 税率 to the cart", "en", False),
        ("添加税率", "zh", True),
        ("添加 cart.py 的税率", "zh", True),
        ("Add the rates", "zh", False),
        ("税率をカートに追加", "ja", True),
        ("添加税率", "ja", False),
        ("세율 추가하기", "ko", True),
        ("Добавить ставки", "ru", True),
        ("Fügt die Sätze hinzu", "de", True),
        ("feat: Sätze hinzufügen", "de", False),
        ("This commit adds it", "de", False),
    ],
)
def test_a_line_is_one_sentence_in_its_language(text, code, is_taken):
    assert takes(text, code) == is_taken


@pytest.mark.parametrize("code", ["en", "zh", "ja", "ko", "ru", "de"])
def test_names_are_excluded_within_what_a_grammar_may_cost(code):
    words = {"en": "Add ", "zh": "添加 ", "ja": "の ", "ko": "추가 ", "ru": "Ставка ", "de": "Mit "}
    text = f"{words[code]}src/a-b.py (x_y) too"
    many = [f"some/long/path/number_{i}.config.yaml" for i in range(30)]
    assert takes(text, code, many)
    assert not takes(text, code, ["src/a-b.py", *many])
    assert not takes(text, code, many, bare=True)


@pytest.mark.parametrize(
    ("text", "max_chars", "line"),
    [
        ("Add the rates to the cart", 40, "Add the rates to the cart"),
        ("Add the rates to the cart and read them from a file", 30, "Add the rates to the cart"),
        ("Add rates, prices, and carts of every known kind", 24, "Add rates, prices"),
        ("Add the rates which the cart of each user has", 30, "Add the rates"),
        ("Addtherateswithoutanyspaceatallanywhere", 12, "Addtherates"[:12] + "w"),
        ("添加税率，并从文件中读取价格", 8, "添加税率"),
    ],
)
def test_a_line_that_is_too_long_ends_with_a_clause(text, max_chars, line):
    assert shortened(text, max_chars) == line


@given(st.text(max_size=120), st.integers(8, 80))
def test_a_shortened_line_keeps_to_its_bound(text, max_chars):
    assert len(shortened(text, max_chars)) <= max_chars


def test_a_line_is_tidied():
    assert tidy('  "Add  the rates." ') == "Add the rates"
    assert tidy("修复错误。") == "修复错误"
    assert tidy("...") == ""


@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("feat(cart)!: add rates", Header("add rates", "feat", "cart", True)),
        ("Fix: a bug", Header("a bug", "fix")),
        ("fix(a b): x", Header("x", "fix", "a b")),
        ("Merge branch 'x'", None),
        ("feat add", None),
        ("feat:", None),
    ],
)
def test_headers_are_read_as_conventional_commits_writes_them(line, header):
    assert parse_header(line) == header
    if header and header.type == "feat":
        assert str(header) == line


def test_what_is_wrong_with_a_header_is_said():
    types = ("feat", "fix")
    assert header_fault("feat: add", types) is None
    assert header_fault("add", ()) is None
    assert "type" in header_fault("docs: add", types)
    assert "full stop" in header_fault("feat: add.", types)
    assert "73" in header_fault("feat: " + "x" * 67, types)
    assert "one line" in header_fault("a\nb", ())


def test_a_breaking_change_is_told_by_its_footer():
    assert breaking_footer("feat: x\n\nwords\n\nBREAKING CHANGE: y is gone") == "y is gone"
    assert breaking_footer("feat: x\n\nno BREAKING CHANGE: here") is None


@pytest.mark.parametrize(
    ("subjects", "name"),
    [
        ([], "English"),
        (["Add the rates", "Fix a bug in the cart"], "English"),
        (["修复购物车", "添加税率", "Bump x"], "Chinese"),
        (["カートを修正", "税率を追加"], "Japanese"),
        (["Добавить ставки"], "Russian"),
        (["Steuersätze für den Warenkorb", "Fehler bei der Summe behoben"], "German"),
        (["v1.2", "x"], "English"),
    ],
)
def test_the_language_is_that_of_most_subjects(subjects, name):
    assert language_of_subjects(subjects).name == name


def test_a_language_is_given_by_code_or_name():
    assert language_of("zh") == language_of("chinese") == languages()["zh"]
    assert language_of("Polish").name == "Polish"
    with pytest.raises(InputError, match="no name of a language"):
        language_of("  ")


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" ")))
def test_wrapping_loses_nothing_and_keeps_to_the_width(text):
    text = " ".join(text.split())
    lines = bullet(text)
    assert "".join("".join(lines).split()) == "".join(("- " + text).split())
    for line in lines:
        assert columns(line) <= MAX_COLUMNS or len(line.split()) <= 2
