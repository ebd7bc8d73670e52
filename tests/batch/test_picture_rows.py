"""Pictures as rows of a job: one row each, errors where they belong, and nothing read twice."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path

import pytest

pytest.importorskip("PIL")
pytest.importorskip("rapidocr")
pytest.importorskip("onnxruntime")

from PIL import Image

from vedette.batch import BadRow, Job, Source, run
from vedette.batch import source as source_module
from vedette.batch.results import content_sha256
from vedette.errors import CapabilityMissing, EngineFailed, FileError, InputError
from vedette.pictures import Line, Page, load
from vedette.pictures.layout import page_of
from vedette.types import Item, Picture

from .fakes import FakeBackend, ShoutTask

BOX = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))


class FakeOcr:
    """Reads the colour of a picture's first pixel; `reads` are the hashes of what it read."""

    reads: list[str]

    def read(self, picture: Picture) -> Page:
        from io import BytesIO

        FakeOcr.reads.append(picture.sha256)
        red = Image.open(BytesIO(picture.data)).convert("RGB").getpixel((0, 0))[0]
        if red == 66:
            raise EngineFailed("OCR failed: no memory")
        return page_of([] if red == 0 else [Line(f"colour {red}", 0.8, BOX)], n_unsure=red == 7)


@pytest.fixture(autouse=True)
def fake_ocr(monkeypatch):
    FakeOcr.reads = []
    monkeypatch.setattr(source_module, "Ocr", FakeOcr)


def paint(path: Path, red: int) -> str:
    Image.new("RGB", (8, 8), (red, 0, 0)).save(path, "PNG")
    return str(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pics").mkdir()
    return tmp_path / "pics"


def result(tmp_path: Path, source: Source, **options) -> tuple[list[dict], object]:
    out = str(tmp_path / "out.jsonl")
    summary = run(Job(source=source, task=ShoutTask(), backend=FakeBackend(), out=out, **options))
    return [json.loads(line) for line in Path(out).read_text().splitlines()], summary


def sha256(path: str | Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_each_picture_is_a_row_with_its_name_its_hash_and_how_it_was_read(tmp_path, folder):
    paths = [paint(folder / f"{red}.jpg", red) for red in (1, 7)]
    lines, summary = result(tmp_path, Source(paths=tuple(paths)))
    assert [line["id"] for line in lines] == paths
    assert [line["value"] for line in lines] == [{"shouted": "COLOUR 1"}, {"shouted": "COLOUR 7"}]
    assert lines[0]["picture"] == {
        "sha256": sha256(paths[0]),
        "read_by": "ocr",
        "lines": 1,
        "confidence": 0.8,
        "text": "colour 1",
    }
    assert lines[1]["picture"]["unsure_lines"] == 1
    assert summary.total == 2


def test_wrong_files_are_error_rows_and_the_others_are_answered(tmp_path, folder):
    good = paint(folder / "a.png", 1)
    (folder / "b.jpg").write_text("no picture")
    (folder / "c.jpg").write_bytes(b"")
    whole = Path(paint(folder / "d.png", 3)).read_bytes()
    (folder / "d.png").write_bytes(whole[:-30])
    Image.new("1", (10_000, 6_000)).save(folder / "e.png")
    paint(folder / "f.png", 66)
    lines, summary = result(tmp_path, Source(paths=(str(folder),)))
    assert [line["ok"] for line in lines] == [True, False, False, False, False, False]
    assert lines[0]["id"] == good
    said = [line["error"]["message"] for line in lines[1:]]
    for words, message in zip(
        ("is not a picture", "is empty", "damaged or cut", "10,000 x 6,000", "OCR failed"),
        said,
        strict=True,
    ):
        assert words in message
    assert {line["error"]["code"] for line in lines[1:5]} == {"invalid_picture"}
    assert [line["picture"]["sha256"] for line in lines[1:]] == [
        sha256(folder / name) for name in ("b.jpg", "c.jpg", "d.png", "e.png", "f.png")
    ]
    assert (summary.errors, summary.bad_rows, summary.exit_code) == (5, 5, 1)


def test_the_same_command_again_reads_no_picture_and_a_new_one_is_read_alone(tmp_path, folder):
    for red in range(1, 6):
        paint(folder / f"{red}.png", red)
    source = Source(paths=(str(folder),))
    before, _ = result(tmp_path, source)
    assert len(FakeOcr.reads) == 5
    again, summary = result(tmp_path, source)
    assert again == before
    assert len(FakeOcr.reads) == 5
    assert (summary.asked, summary.from_journal) == (0, 5)
    paint(folder / "3a.png", 77)
    more, summary = result(tmp_path, source)
    assert [line["value"]["shouted"] for line in more][3] == "COLOUR 77"
    assert len(FakeOcr.reads) == 6
    assert summary.asked == 1


def test_a_picture_goes_by_its_content_not_by_its_name(tmp_path, folder):
    first, second = paint(folder / "a.png", 5), paint(folder / "b.png", 5)
    lines, summary = result(tmp_path, Source(paths=(first, second)))
    assert lines[0]["picture"] == lines[1]["picture"]
    assert (summary.asked, summary.duplicates) == (1, 1)
    Path(first).rename(folder / "z.png")
    _, summary = result(tmp_path, Source(paths=(str(folder / "z.png"), second)))
    assert summary.asked == 0


def test_a_journal_of_texts_read_otherwise_is_refused(tmp_path, folder, monkeypatch):
    paint(folder / "a.png", 5)
    source = Source(paths=(str(folder),))
    result(tmp_path, source)
    monkeypatch.setattr("vedette.pictures.ocr.LAYOUT_VERSION", 99)
    with pytest.raises(InputError, match="layout"):
        result(tmp_path, source)


def test_jobs_without_pictures_keep_their_identity(tmp_path):
    (tmp_path / "a.log").write_text("one\n")
    assert Source(paths=(str(tmp_path / "a.log"),)).reading is None


def test_a_name_that_is_not_utf8_is_read_and_told_as_well_as_can_be(tmp_path, folder):
    path = os.fsdecode(bytes(folder) + b"/caf\xe9.png")
    paint(Path(path), 5)
    lines, _ = result(tmp_path, Source(paths=(str(folder),)))
    assert lines[0]["id"].endswith("/caf\ufffd.png")
    assert lines[0]["ok"] is True


def test_a_picture_without_text_is_an_empty_text(tmp_path, folder):
    lines, _ = result(tmp_path, Source(paths=(paint(folder / "a.png", 0),)))
    assert lines[0]["value"] == {"shouted": ""}
    assert lines[0]["picture"]["confidence"] is None


def test_content_says_what_a_picture_is_and_its_name_what_should_be_one(folder, tmp_path):
    Path(paint(folder / "a.png", 9)).rename(folder / "a.data")
    (folder / "b.jpeg").write_text("text")
    found = list(Source(paths=(str(folder),)).rows())
    assert isinstance(found[0], Item)
    assert found[0].text == "colour 9"
    assert isinstance(found[1], BadRow)


def test_a_folder_with_other_files_is_refused_unless_all_are_to_be_read(folder):
    paint(folder / "a.png", 9)
    (folder / ".hidden").write_text("x")
    (folder / "notes.txt").write_text("x")
    with pytest.raises(FileError, match=r"other files beside pictures \(notes\.txt\)"):
        Source(paths=(str(folder),)).check()
    found = list(Source(paths=(str(folder),), format="pictures").rows())
    assert [isinstance(row, BadRow) for row in found] == [False, True]


def test_a_folder_without_pictures_is_as_it_was(folder):
    (folder / "notes.txt").write_text("x")
    with pytest.raises(FileError, match="is a folder"):
        Source(paths=(str(folder),)).check()


def test_limit_and_sample_load_only_what_they_take(tmp_path, folder, monkeypatch):
    loaded: list[str] = []

    def noted(place, **options):
        loaded.append(place)
        return load(place, **options)

    monkeypatch.setattr("vedette.batch.read_pictures.load", noted)
    for red in range(1, 30):
        paint(folder / f"{red:02}.png", red)
    source = Source(paths=(str(folder),), limit=3)
    assert source.total() == 3
    assert len(list(source.rows())) == len(loaded) == 3
    loaded.clear()
    sampled = Source(paths=(str(folder),), sample=4)
    assert sampled.total() == 4
    assert len(list(sampled.rows())) == len(loaded) == 4


# Pictures named by rows


def test_rows_name_their_pictures_by_path_and_data_url(tmp_path, folder):
    path = paint(folder / "a.png", 9)
    url = "data:image/png;base64," + base64.b64encode(Path(path).read_bytes()).decode()
    rows = [
        {"id": "p", "pic": path, "lang": "de"},
        {"id": "d", "pic": url, "lang": "en"},
        {"id": "n", "pic": None, "lang": "en"},
        {"id": "u", "pic": "https://example.org/a.png", "lang": "en"},
        {"id": "m", "lang": "en"},
        {"id": "g", "pic": "gone.png", "lang": "en"},
    ]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = list(Source(paths=(str(data),), picture_field="pic", columns=("lang",)).rows())
    assert [row.id for row in found] == ["p", "d", "n", "u", "m", "g"]
    assert [row.text for row in found[:2]] == ["colour 9", "colour 9"]
    assert found[1].columns == {"lang": "en"}
    assert all(isinstance(row, BadRow) for row in found[2:])
    said = [row.error.message for row in found[2:]]
    assert "the field 'pic' is null" in said[0]
    assert "pictures are not fetched" in said[1]
    assert "there is no field 'pic'" in said[2]
    assert "cannot read gone.png" in said[3]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"text_field": "body"}, "'body' is asked for, but the input is files without fields"),
        ({"picture_field": "pic"}, "'pic' is asked for"),
        ({"records": "blank"}, "for plain text"),
        ({"fetch_pictures": True}, "--picture-field"),
        ({"paths": ("-",), "format": "pictures"}, "a picture cannot be read from stdin"),
    ],
)
def test_an_option_that_pictures_cannot_meet_is_refused(folder, options, said):
    path = paint(folder / "a.png", 9)
    with pytest.raises(InputError, match=said):
        Source(**{"paths": (path,), **options}).check()


def test_text_and_picture_field_exclude_each_other(tmp_path):
    data = tmp_path / "rows.jsonl"
    data.write_text("{}\n")
    with pytest.raises(InputError, match="exclude each other"):
        Source(paths=(str(data),), text_field="a", picture_field="b").check()


def test_without_the_reader_the_job_does_not_begin(folder, monkeypatch):
    def missing() -> None:
        raise CapabilityMissing("reading pictures needs rapidocr")

    path = paint(folder / "a.png", 9)
    monkeypatch.setattr(source_module, "check_ocr", missing)
    with pytest.raises(CapabilityMissing):
        Source(paths=(path,)).check()


# Into a sink


class FakeSink:
    """Fails at the third row, once."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, bool]] = []
        self.notes = ["kept"]
        self.finished = self.closed = 0
        self.fails = True

    def put(self, row_id: str, content: str, body: bytes) -> None:
        if self.fails and len(self.rows) == 2:
            raise FileError("the database is gone")
        self.rows.append((row_id, content, json.loads(body)["ok"]))

    def finish(self) -> None:
        self.finished += 1

    def close(self) -> None:
        self.closed += 1


def test_a_sink_that_fails_ends_the_job_and_the_next_run_puts_every_row_again(tmp_path, folder):
    paths = [paint(folder / f"{red}.png", red) for red in range(1, 5)]
    (folder / "9.png").write_text("no picture")
    source, sink = Source(paths=(str(folder),)), FakeSink()
    with pytest.raises(FileError, match="the database is gone"):
        result(tmp_path, source, into=sink)
    assert sink.closed == 1
    sink.fails = False
    sink.rows.clear()
    lines, summary = result(tmp_path, source, into=sink)
    assert [(line["id"], line["ok"]) for line in lines] == [(row[0], row[2]) for row in sink.rows]
    assert [row[1] for row in sink.rows] == [sha256(path) for path in (*paths, folder / "9.png")]
    assert (sink.finished, sink.closed) == (1, 2)
    assert summary.notes == ("kept",)


# Hashes


def test_the_hash_of_a_row_is_that_of_its_content():
    assert content_sha256(Item(id="1", text="é")) == hashlib.sha256("é".encode()).hexdigest()
    plain, other = Item(id="1", text="a"), Item(id="2", text="a", columns={"x": 1})
    assert content_sha256(plain) != content_sha256(other)
    bad = BadRow(id="1", error=InputError("x"), picture_sha256="ab")
    assert content_sha256(bad) == "ab"
    assert content_sha256(BadRow(id="1", error=InputError("x"))) != content_sha256(
        BadRow(id="2", error=InputError("x"))
    )


def test_an_item_whose_picture_was_not_read_is_never_asked(folder):
    from vedette.batch import answers

    item = Item(id="p", text="", picture=load(paint(folder / "a.png", 9)))
    ((_, outcome),) = answers([item], ShoutTask(), FakeBackend())
    assert isinstance(outcome, InputError)
    assert "has not been read" in outcome.message
