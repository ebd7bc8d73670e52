"""The page in a real browser, used as a person would. Left out where there is no Chromium."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest
from batching import as_jsonl, chat_line
from gatewayed import gatewayed, tier
from served import served
from upstreams import upstream

from vedette.serve.app import create_app
from vedette.serve.file_store import FileStore
from vedette.serve.options import ServeOptions

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium (Debian: apt install chromium)"
)

VIEWS = (
    *("decide", "classify", "rerank", "redact", "extract", "chat", "task"),
    *("guard", "compress", "batches", "live", "machine", "ledger"),
)
ASKED = ("decide", "classify", "rerank", "redact", "extract", "guard", "compress", "task")
WAIT_MS = 60_000


@pytest.fixture(scope="module")
def home(tiny_backend, tmp_path_factory) -> Iterator[str]:
    options = ServeOptions(model="tiny", max_tokens=12)
    folder = tmp_path_factory.mktemp("page") / "files"
    with FileStore(folder) as store, served(create_app(tiny_backend, options, store)) as url:
        yield url


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser, home):
    """A tab; at the end nothing may have gone wrong in it or have left for another host."""
    tab = browser.new_page(viewport={"width": 1200, "height": 900}, locale="en-GB")
    tab.set_default_timeout(WAIT_MS)
    faults: list[str] = []
    tab.on("console", lambda told: faults.append(told.text) if told.type == "error" else None)
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on(
        "request",
        lambda asked: None if asked.url.startswith((home, "blob:")) else faults.append(asked.url),
    )
    yield tab
    tab.close()
    assert faults == []


def opened(page, home: str, view: str):
    page.goto(f"{home}/#{view}")
    page.wait_for_selector(f"nav a[href='#{view}'][aria-current='page']")
    page.wait_for_selector("#state.good")
    return page


def answered(page):
    page.click("main button.main")
    page.wait_for_selector("main button.main:not([disabled])")
    return page.locator("section[aria-live]")


@pytest.mark.parametrize("view", ASKED)
def test_a_playground_answers_what_it_comes_with(page, home, view):
    answer = answered(opened(page, home, view))
    assert answer.locator(".problem").count() == 0, answer.inner_text()
    assert answer.locator(".empty").count() == 0


def test_decide_shows_a_bar_for_each_answer_that_was_written_down(page, home):
    opened(page, home, "decide")
    page.get_by_label("What is asked").first.fill("Which colour?")
    page.get_by_label("Answers one a line, levels from low to high").first.fill(
        "red\ngreen\nblue\ngrey"
    )
    answer = answered(page)
    assert answer.locator("h3").first.inner_text() == "Which colour?"
    bars = answer.locator(".bars").first
    assert bars.locator(".name").all_inner_texts() == ["red", "green", "blue", "grey"]
    shares = [float(text.rstrip("%")) for text in bars.locator(".value").all_inner_texts()]
    assert sum(shares) == pytest.approx(100, abs=0.3)


def test_redact_marks_what_it_takes_out_and_shows_none_of_it_beside(page, home):
    opened(page, home, "redact")
    page.get_by_label("Text").fill("🙂 write to bob@example.com, please")
    answer = answered(page)
    assert answer.locator("mark").inner_text().startswith("bob@example.com")
    assert answer.locator(".text").nth(1).inner_text() == "🙂 write to [EMAIL_1], please"


def test_extract_obeys_the_schema_that_was_typed_and_tells_how_it_is_enforced(page, home):
    opened(page, home, "extract")
    schema = {"type": "object", "properties": {"up": {"type": "boolean"}}, "required": ["up"]}
    page.get_by_label("JSON Schema").fill(json.dumps(schema))
    answer = answered(page)
    assert set(json.loads(answer.locator("pre").inner_text())) == {"up"}
    answer.locator("summary").click()
    assert "enforced" in answer.locator("table").inner_text()


def test_wrong_json_is_one_sentence_and_nothing_is_asked(page, home):
    opened(page, home, "extract")
    page.get_by_label("JSON Schema").fill("{")
    answer = answered(page)
    assert answer.locator(".problem").inner_text().startswith("JSON Schema is not JSON")


def test_what_a_model_or_a_person_writes_never_becomes_markup(page, home):
    opened(page, home, "redact")
    page.get_by_label("Text").fill("<img src=x onerror=alert(1)> bob@example.com")
    answer = answered(page)
    assert answer.locator("img").count() == 0
    assert "<img src=x onerror=alert(1)>" in answer.inner_text()


def test_a_chat_is_streamed_and_sent_with_the_keyboard(page, home):
    opened(page, home, "chat")
    page.get_by_label("Your words").fill("hello")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".turn + .turn .soft, .turn:nth-child(2) .soft")
    assert page.locator(".turn").count() == 2
    assert "a second" in page.locator(".turn").nth(1).inner_text()


def test_a_batch_is_watched_to_its_end_with_its_error_rows(page, home, tmp_path):
    lines = [*(chat_line(f"row-{i}", max_tokens=2) for i in range(5)), chat_line("bad", top_p=7)]
    path = tmp_path / "in.jsonl"
    path.write_bytes(as_jsonl(lines))
    opened(page, home, "batches")
    page.get_by_label("File").set_input_files(path)
    page.click("main button.main")
    card = page.locator(".card").filter(has_text="completed")
    card.wait_for()
    assert "6 of 6 done, 1 with an error" in card.inner_text()
    card.get_by_role("button", name="Errors").click()
    card.locator("table").wait_for()
    assert "bad" in card.locator("table").inner_text()
    card.get_by_role("button", name="Answers", exact=True).click()
    card.locator("tbody tr").nth(4).wait_for()
    assert card.locator("tbody tr").count() == 5


def test_what_was_asked_is_seen_live(page, home):
    answered(opened(page, home, "redact"))
    opened(page, home, "live")
    page.locator("table").wait_for()
    assert "POST /v1/tasks/redact" in page.locator("table").inner_text()


def test_the_language_and_the_theme_are_kept(page, home):
    opened(page, home, "decide")
    page.get_by_label("Language").select_option("zh")
    page.get_by_role("heading", name="判断").wait_for()
    page.get_by_role("button", name="深色").click()
    page.reload()
    page.get_by_role("heading", name="判断").wait_for()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.locator("html").get_attribute("lang") == "zh-Hans"


@pytest.mark.parametrize(("theme", "width"), [("light", 1200), ("dark", 1200), ("light", 360)])
def test_no_view_is_hard_to_use(page, home, theme, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)
    for view in VIEWS:
        opened(page, home, view)
        found = axe.Axe().run(page).response["violations"]
        serious = [one["id"] for one in found if one["impact"] in ("serious", "critical")]
        assert serious == [], view
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, view


def test_all_can_be_reached_by_the_tab_key(page, home):
    opened(page, home, "redact")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "(({tagName, textContent}) => `${tagName}|${textContent}`)(document.activeElement)"
            )
        )
    tags = {one.split("|")[0] for one in reached}
    assert {"A", "BUTTON", "SELECT", "TEXTAREA"} <= tags
    assert "BUTTON|Ask" in reached


def test_a_server_with_a_key_asks_for_it_once(browser, tiny_backend):
    with served(create_app(tiny_backend, ServeOptions(model="tiny", api_key="sesame"))) as url:
        tab = browser.new_page(locale="en-GB")
        tab.goto(url)
        tab.locator("dialog input").fill("sesame")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("#state.good")
        assert tab.locator("dialog").count() == 0
        tab.close()


def test_the_ledger_tells_what_was_asked_here_and_there(
    browser, tiny_backend, tmp_path, monkeypatch
):
    with upstream() as large:
        text = tier(large, price=[1.0, 2.0]) + '[gateway.routes.auto]\ncall = ["large"]\n'
        with gatewayed(tmp_path, monkeypatch, tiny_backend, text) as on:
            assert on.ask("hello").status_code == 200
            tab = browser.new_page(locale="en-GB")
            tab.set_default_timeout(WAIT_MS)
            tab.goto(f"{on.url}/#ledger")
            tab.locator("main table").first.wait_for()
            told = tab.locator("main").inner_text()
            assert "large" in told
            assert "auto" in told
            assert "0.00006" in told  # 40 tokens at 1 and 10 at 2 of a million
            tab.close()
