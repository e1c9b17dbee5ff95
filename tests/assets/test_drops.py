"""Dropped files are dated by their receipt, not by the dates in them. They can be corrected by a later file, and are
published completely or not at all.
"""

import os
from datetime import datetime, timedelta, timezone
from io import BytesIO

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

import pitlake
from assets.drops import all_drops
from assets.drops.receiving import publish, receive
from pitlake import clock
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore

HEAD = "kind,instrument,tenor,measure,value,unit,quoted_on\n"
NOON = datetime(2024, 3, 5, 17, tzinfo=timezone.utc)
DAY = timedelta(days=1)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A lake and a folder into which a test drops files at chosen instants."""
    return Desk(tmp_path, monkeypatch)


class Desk:
    def __init__(self, root, monkeypatch):
        self.lake, self.folder, self._monkeypatch = Lake(root / "lake"), root / "drops", monkeypatch
        self.store, self.runs = CaptureStore.of(self.lake.location), 0
        self.folder.mkdir()

    def drop(self, name, content, at=None):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        seconds = (at or NOON).timestamp() - 60
        os.utime(path, (seconds, seconds))

    def run(self, dataset, at):
        """Receive and publish the dropped files at an instant."""
        feed, self.runs = all_drops()[dataset], self.runs + 1
        for place in (clock, pitlake.clock):
            self._monkeypatch.setattr(place, "now", lambda: at)
        received = receive(feed, self.folder, self.store)
        reports = list(publish(feed, self.store, self.lake, run_id=f"run{self.runs}"))
        self._monkeypatch.undo()
        return received, reports

    def ask(self, dataset, what, at):
        with pitlake.connect(at, lake=self.lake.root, datasets=[dataset]) as session:
            return session.sql(f"SELECT {what} FROM {dataset} ORDER BY ALL").rows()

    def gaps(self, dataset, at):
        with pitlake.connect(at, lake=self.lake.root, datasets=[dataset]) as session:
            return session.sql(f"SELECT gap_type, reason FROM gaps WHERE dataset = '{dataset}' ORDER BY ALL").rows()


def test_a_quote_is_public_only_from_the_receipt_of_its_file(desk):
    desk.drop("2024-02-01.csv", HEAD + "curve,USD-SOFR,10Y,par_rate,3.9,percent,2024-02-01\n")
    desk.run("market_quotes", NOON)
    assert desk.ask("market_quotes", "value", NOON - timedelta(microseconds=1)) == []
    assert desk.ask("market_quotes", "value, available_at", NOON) == [(3.9, NOON)]


def test_a_corrected_quote_counts_from_its_own_receipt_and_the_first_remains(desk):
    for value, at in ((3.9, NOON), (4.1, NOON + DAY)):
        desk.drop("a.csv", HEAD + f"curve,USD-SOFR,10Y,par_rate,{value},percent,2024-02-01\n", at)
        desk.run("market_quotes", at)
    assert desk.ask("market_quotes", "value", NOON + DAY - timedelta(seconds=1)) == [(3.9,)]
    assert desk.ask("market_quotes", "value", NOON + DAY) == [(4.1,)]


def test_the_same_quote_in_another_file_or_a_run_without_files_changes_nothing(desk):
    desk.drop("a.csv", HEAD + "fx,EURUSD,spot,mid,1.08,,2024-02-01\n")
    desk.run("market_quotes", NOON)
    desk.drop("b.csv", HEAD + "fx,EURUSD,,mid,1.08,,2024-02-01\n", NOON + DAY)
    _, (again,) = desk.run("market_quotes", NOON + DAY)
    assert (again.outcome.total.unchanged, again.outcome.total.published) == (1, 0)
    received, (none,) = desk.run("market_quotes", NOON + 2 * DAY)
    assert (received, none.outcome.changed) == ([], False)
    assert desk.ask("market_quotes", "available_at, tenor", NOON + 2 * DAY) == [(NOON, "spot")]


def test_a_file_received_by_a_killed_run_is_published_later_as_of_its_receipt(desk):
    desk.drop("a.csv", HEAD + "fx,EURUSD,spot,mid,1.08,,2024-02-01\n")
    with desk._monkeypatch.context() as patched:
        patched.setattr(clock, "now", lambda: NOON)
        receive(all_drops()["market_quotes"], desk.folder, desk.store)
    desk.run("market_quotes", NOON + DAY)
    assert desk.ask("market_quotes", "available_at", NOON + DAY) == [(NOON,)]


@pytest.mark.parametrize(
    ("line", "gap"),
    [
        ("fx,EURUSD,spot,mid,1.08,,2024-03-06\n", ("unverifiable", "quoted for a day after its receipt")),
        ("fx,EURUSD,spot,mid,n/a,,2024-03-01\n", ("unverifiable", "value is unreadable")),
        ("fx,EURUSD,spot,mid,,,2024-03-01\n", ("unverifiable", "value is unreadable")),
        ("swap,EURUSD,spot,mid,1.08,,2024-03-01\n", ("unverifiable", "kind is unreadable")),
        ("fx,EURUSD,spot,mid,1.08,,01/03/2024\n", ("unverifiable", "quoted_on is unreadable")),
        ("fx,EURUSD,mid,1.08,2024-03-01\n", ("upstream_error", "item has an unknown format")),
        ("fx,EURUSD,spot,mid,1.08,,2024-03-01", ("upstream_error", "the file's last line has no line break")),
        ("", ("no_data", "the answer is valid and empty")),
    ],
)
def test_an_invalid_line_or_an_empty_file_is_a_gap(desk, line, gap):
    desk.drop("a.csv", HEAD + line)
    desk.run("market_quotes", NOON)
    assert (desk.ask("market_quotes", "value", NOON), desk.gaps("market_quotes", NOON)) == ([], [gap])


def test_conflicting_lines_for_a_quote_leave_the_first_and_a_gap(desk):
    line = "fx,EURUSD,spot,mid,{},,2024-03-01\n"
    desk.drop("a.csv", HEAD + line.format(1.08) + line.format(1.09))
    desk.run("market_quotes", NOON)
    assert desk.ask("market_quotes", "value", NOON) == [(1.08,)]
    assert desk.gaps("market_quotes", NOON) == [("unverifiable", "stated differently on another line")]


def test_a_file_with_an_unexpected_header_is_a_gap(desk):
    desk.drop("a.csv", "instrument,price\nEURUSD,1.08\n")
    desk.run("market_quotes", NOON)
    assert desk.gaps("market_quotes", NOON) == [("upstream_error", "the answer is unreadable")]


def test_files_being_written_hidden_linked_or_of_another_type_are_not_received(desk, tmp_path):
    desk.drop("fresh.csv", HEAD, NOON + timedelta(seconds=58))
    desk.drop(".hidden.csv", HEAD)
    desk.drop("table.xlsx", HEAD)
    (tmp_path / "secret.csv").write_text(HEAD)
    (desk.folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    assert desk.run("market_quotes", NOON)[0] == []


def test_a_folder_that_does_not_exist_is_refused(desk):
    with pytest.raises(BadInput, match="folder"):
        receive(all_drops()["market_quotes"], desk.folder / "nowhere", desk.store)


def pdf(text, title=None, password=None):
    """Return a one-page PDF that shows the text."""
    writer = PdfWriter()
    page = writer.add_blank_page(300, 300)
    font = DictionaryObject({NameObject("/Type"): NameObject("/Font"), NameObject("/Subtype"): NameObject("/Type1")})
    font[NameObject("/BaseFont")] = NameObject("/Helvetica")
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
    )
    stream = DecodedStreamObject()
    stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
    page[NameObject("/Contents")] = stream
    if title:
        writer.add_metadata({"/Title": title, "/CreationDate": "D:20010203040506Z"})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    target = BytesIO()
    writer.write(target)
    return target.getvalue()


def test_notes_of_every_format_become_text_dated_by_their_receipt(desk):
    desk.drop("street/rates.pdf", pdf("Duration is cheap. Published 2 March 2001.", "Rates outlook"))
    desk.drop("own.md", "# Growth\n\nFebruary 2001: slowing.\n")
    desk.drop("street/fx.html", "<html><head><title>Dollar</title></head><body><p>Stronger.</p></body></html>")
    desk.run("research_notes", NOON)
    assert desk.ask("research_notes", "note", NOON - timedelta(seconds=1)) == []
    question = "note, publisher, format, title, pages, contains(text, '2001'), available_at"
    assert desk.ask("research_notes", question, NOON) == [
        ("own.md", None, "markdown", "Growth", None, True, NOON),
        ("street/fx.html", "street", "html", "Dollar", None, False, NOON),
        ("street/rates.pdf", "street", "pdf", "Rates outlook", 1, True, NOON),
    ]


@pytest.mark.parametrize(
    ("content", "gap"),
    [
        (pdf("x", password="secret"), ("upstream_error", "the file is encrypted")),
        (pdf(""), ("no_data", "no text")),
        (b"%PDF-1.7 not really", ("upstream_error", "the file can't be read")),
        (b"", ("upstream_error", "the file can't be read")),
    ],
)
def test_an_unreadable_or_empty_pdf_is_a_gap(desk, content, gap):
    desk.drop("a.pdf", content)
    desk.run("research_notes", NOON)
    assert desk.gaps("research_notes", NOON) == [gap]


def test_a_model_cutoff_by_month_is_the_end_of_the_month_and_a_missing_cutoff_is_null(desk):
    reply = "https://models.example/card"
    desk.drop(
        "models.csv",
        f"model,released,knowledge_cutoff,source\nm-1,2024-02-29,2023-08,{reply}\nm-2,2024-03-01,,{reply}\nm-3,,,here\n",
    )
    desk.run("model_registry", NOON)
    assert [(name, str(day)) for name, day in desk.ask("model_registry", "model, knowledge_cutoff", NOON)] == [
        ("m-1", "2023-08-31"),
        ("m-2", "None"),
    ]
    assert desk.gaps("model_registry", NOON) == [("unverifiable", "source is unreadable")]
