"""Pages and PDFs are read in a separate process with a time limit. A file that exceeds the limit becomes a gap."""

import time
from io import BytesIO

import psutil
import pytest
from pypdf import PdfReader, PdfWriter

from assets import bounded
from assets.bounded import OutOfBounds
from assets.drops.research_notes import of_html, of_pdf
from assets.external.perplexity import web_syntheses
from assets.external.web._markup import read
from assets.feeds.feed import Scope
from pitlake.datasets import research_notes, web_pages
from resources.http.capture import Request
from tests.answers import FETCHED, captured, gaps, happened, rows
from tests.assets.external.test_web import HTML, PAGES, PUBLISHED, URL
from tests.assets.test_drops import pdf

SIZE = 200_000
PUMPS = [
    "<div>", "<p>", "<b>", "<table>", "<a><div>", "<meta ", "<time ", "<think ", '"datePublished" ', "&amp", "<!--",
    "<a b=", "</div",
]  # fmt: skip


def capture(body, headers=HTML):
    return captured(PAGES.provider, Request("/releases/x", host="www.prnewswire.com"), body, headers=headers)


def shared_stream(pages, lines):
    """Return a PDF whose pages share one long content stream."""
    reader, writer = PdfReader(BytesIO(pdf("x) Tj " + "(word) Tj " * lines + "(y"))), PdfWriter()
    for _ in range(pages):
        writer.add_page(reader.pages[0])
    writer.compress_identical_objects()
    target = BytesIO()
    writer.write(target)
    return target.getvalue()


@pytest.fixture
def in_a_second(monkeypatch):
    monkeypatch.setattr(bounded, "SECONDS", 1.0)
    bounded.bounded(len, b"")  # starts the process from which others are forked


@pytest.mark.sampled(5)
@pytest.mark.parametrize("pump", PUMPS)
def test_no_page_takes_longer_than_the_time_limit(in_a_second, pump):
    start = time.monotonic()
    (result,) = read(capture((pump * (SIZE * 4 // len(pump))).encode()), URL)
    assert time.monotonic() - start < 10
    assert result.url == URL


def test_a_page_that_takes_too_long_is_a_gap_and_its_neighbours_are_rows(monkeypatch):
    bounded.bounded(len, b"")
    head = f"<html><head>{PUBLISHED}</head><body>".encode()
    bodies = {"/one": head + b"<p>Text.</p>", "/two": head + b"<div>" * SIZE, "/three": head + b"<p>More.</p>"}
    queries = tuple(f"https://www.prnewswire.com{name}" for name in bodies)
    monkeypatch.setattr(bounded, "SECONDS", 3.0)
    headers = HTML | {"date": FETCHED.strftime("%a, %d %b %Y %H:%M:%S GMT")}
    result = happened(
        PAGES, Scope(queries=queries), lambda ask: captured(PAGES.provider, ask, bodies[ask.path], headers=headers)
    )
    assert {row.values["url"] for row in rows(result)} == {queries[0], queries[2]}
    [gap] = gaps(result)
    assert web_pages.NO_TEXT.reason in gap


def test_a_pdf_whose_pages_share_a_huge_stream_is_unreadable_within_the_limit(in_a_second, monkeypatch):
    body = shared_stream(1000, 3000)
    assert len(body) < 1 << 20
    start = time.monotonic()
    assert of_pdf(capture(body)) == {"problem": research_notes.UNREADABLE.reason}
    assert time.monotonic() - start < 10
    monkeypatch.undo()  # on a busy machine even a small PDF may take a second
    assert of_pdf(capture(shared_stream(3, 3)))["pages"] == 3


def test_text_beyond_the_size_limit_is_unreadable(monkeypatch):
    monkeypatch.setattr("assets.bounded.LARGEST_FILE", 10)
    monkeypatch.setattr("assets.drops.research_notes.LARGEST_FILE", 10)
    monkeypatch.setattr("assets.external.web._markup.LARGEST_FILE", 10)
    assert of_pdf(capture(pdf("x"))) == {"problem": research_notes.UNREADABLE.reason}
    assert of_html(capture(b"<p>Some text</p>")) == {"problem": research_notes.NO_TEXT.reason}


def test_exceeding_time_or_memory_is_out_of_bounds_and_ends_the_process(monkeypatch, tmp_path):
    monkeypatch.setattr(bounded, "MEMORY", 256 << 20)
    with pytest.raises(OutOfBounds, match="bytes, or crashed"):
        bounded.bounded(bytearray, 1 << 30)
    with pytest.raises(ValueError, match="invalid literal"):
        bounded.bounded(int, "x")
    assert bounded.bounded(len, "abc") == 3
    monkeypatch.setattr(bounded, "SECONDS", 2.0)
    pid_file = tmp_path / "pid"
    with pytest.raises(OutOfBounds, match="took more than"):
        bounded.bounded(exec, f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    assert not psutil.pid_exists(int(pid_file.read_text()))


def test_unclosed_thinking_blocks_are_stripped_in_linear_time():
    start = time.process_time()
    web_syntheses._THOUGHT.sub("", "<think " * 100_000)
    assert time.process_time() - start < 2
