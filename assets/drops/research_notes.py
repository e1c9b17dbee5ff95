"""Dataset `research_notes`: PDF, HTML and Markdown files as text, dated by their receipt.

All functions except `collect` are pure.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from typing import Any

from assets.bounded import LARGEST_FILE, LONGEST_TEXT, OutOfBounds, bounded
from assets.drops import _lines as lines
from assets.drops.receiving import dropped
from assets.external.web._markup import read as read_page
from assets.extraction import Place, Record, RunFacts, dated
from assets.feeds.feed import Feed, Scope, Unit
from assets.feeds.items import evidence_of
from pitlake.datasets import research_notes as contract
from pitlake.datasets.research_notes import DATASET
from resources.http.capture import Capture

MOST_PAGES, LONGEST_TITLE = 1000, 200
NoteValues = dict[str, Any]


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    note = lines.file_name(unit)
    publisher = note.split("/", 1)[0] if "/" in note else None
    for capture in captures:
        kind = capture.headers["content-type"].split(";")[0].strip()
        shape, reader = READERS[kind]
        yield {"note": note, "publisher": publisher, "format": shape, "pages": None, **reader(capture)}, capture


def of_pdf(capture: Capture) -> NoteValues:
    """Return text and title of a PDF, or the problem with it."""
    if len(capture.body) <= LARGEST_FILE:
        with suppress(OutOfBounds):
            return bounded(_read_pdf, capture.body)
    return {"problem": contract.UNREADABLE.reason}


def _read_pdf(body: bytes) -> NoteValues:
    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError, PyPdfError

    try:
        pdf = PdfReader(BytesIO(body))
        if pdf.is_encrypted and not pdf.decrypt(""):
            return {"problem": contract.LOCKED.reason}
        if not 0 < len(pdf.pages) <= MOST_PAGES:
            return {"problem": contract.UNREADABLE.reason}
        texts: list[str] = []
        room = LONGEST_TEXT
        for page in pdf.pages:
            lines = (" ".join(line.split()) for line in page.extract_text().splitlines())
            texts.append("\n".join(filter(None, lines)))
            room -= len(texts[-1])
            if room < 0:
                return {"problem": contract.UNREADABLE.reason}
        pdf_title = pdf.metadata.title if pdf.metadata else None
        return _note(pdf_title, "\n".join(texts)) | {"pages": len(pdf.pages)}
    except FileNotDecryptedError:
        return {"problem": contract.LOCKED.reason}
    except (PyPdfError, ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
        return {"problem": contract.UNREADABLE.reason}  # A damaged file can fail wherever its objects are used.


def of_html(capture: Capture) -> NoteValues:
    """Return text and title of a page."""
    pages = read_page(capture, capture.url)
    return _note(pages[0].title, pages[0].text or "") if pages else {"problem": contract.UNREADABLE.reason}


def of_markdown(capture: Capture) -> NoteValues:
    """Return the text unchanged."""
    return _note(None, capture.text())


READERS: dict[str, tuple[str, Callable[[Capture], NoteValues]]] = {
    "application/pdf": ("pdf", of_pdf),
    "text/html": ("html", of_html),
    "text/markdown": ("markdown", of_markdown),
}


def locate(record: Record, run: RunFacts) -> Place:
    """Return when the file was received."""
    evidence = evidence_of(run, record, record["note"])
    if "problem" in record:
        return Place(evidence, reason=record["problem"])
    return dated(evidence, run.fetched_at or run.observed_at)


def values(record: Record) -> NoteValues:
    return {column.name: record[column.name] for column in DATASET.columns}


def _note(pdf_title: str | None, text: str) -> NoteValues:
    clean = text.replace("\x00", "").strip()
    if not clean:
        return {"problem": contract.NO_TEXT.reason}
    title = (pdf_title or "").replace("\x00", "").strip() or clean.splitlines()[0].lstrip("# ").strip()
    return {"title": title[:LONGEST_TITLE] or None, "text": clean}


DROP = Feed(
    dataset=DATASET,
    provider=dropped(DATASET.name),
    example=Scope(),
    units=lines.units,
    collect=lines.collect,
    records=records,
    locate=locate,
    values=values,
)
