"""Exports: tables as CSV and Excel, order tickets, and bundles of a decision, which can be verified without a lake."""

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from forge.agent.lineage import lineage
from forge.desk import Desk
from forge.memory import Memory, Row
from forge.memory.approvals import APPROVING
from forge.memory.book import held_in
from forge.memory.cash import cash
from forge.memory.chain import is_intact
from forge.memory.plausible import SIDES
from forge.memory.remembered import Remembered
from forge.providers.base import At
from forge.records import KINDS, Approval, Expression, Fill, Leg, Record, Review, content_hash, kind_of_path, parse
from forge.records.text import names, write
from forge.tracking.ledger import Holding
from forge.tracking.risk import Market, last_price
from forge.tracking.valuation import value_account
from pitlake.clock import from_micros, iso
from pitlake.errors import BadInput
from pitlake.recorder import canonical, digest

TABLES = {"fills": "fills", "outcomes": "outcomes", "decisions": "approvals"}
"""The kind of record of each table, besides the positions."""
TICKET = {"expression", "approval", "sha256", "ticker", "quantity"}
"""The columns of a ticket that fills are compared with."""
QUANTITY = re.compile(r"-?[0-9]{1,12}")
COMPUTED = ("exposure", "value", "open", "result")
"""The columns of positions that a holding computes."""
FORMULAS = ("=", "+", "-", "@")
TERMS: dict[str, Any] = {"stop": "", "target": "", "expires": None, "exit_reason": ""}  # The PM may change these.


def table(remembered: Remembered, name: str, at: At) -> str:
    """Return fills, positions, outcomes or the PM's decisions as CSV, by id."""
    return _csv(*_table(remembered, name, at))


def workbook(remembered: Remembered, at: At, file: Path) -> None:
    """Write all tables to an Excel file, one sheet each. Positions need an open account. Raises BadInput."""
    from xlsxwriter import Workbook
    from xlsxwriter.exceptions import FileCreateError

    names = ["positions", *TABLES] if cash(remembered) else [*TABLES]
    book = Workbook(file, {"strings_to_formulas": False, "strings_to_urls": False})
    for name in names:
        rows, columns = _table(remembered, name, at)
        sheet = book.add_worksheet(name)
        sheet.write_row(0, 0, columns, book.add_format({"bold": True}))
        for number, row in enumerate(rows, start=1):
            sheet.write_row(number, 0, [row[column] for column in columns])
        sheet.freeze_panes(1, 1)
        sheet.autofit()
    try:
        book.close()
    except FileCreateError as problem:
        raise BadInput("--excel", f"{file} can't be written: {problem}", "name a file that can") from None


def _table(remembered: Remembered, name: str, at: At) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows and the columns of a table. Values are numbers or text."""
    if name == "positions":
        positions = value_account(remembered, at).account.positions
        rows = [{**asdict(each), **{name: getattr(each, name) for name in COMPUTED}} for each in positions]
        return rows, [*(field.name for field in fields(Holding)), *COMPUTED]
    kind = KINDS[TABLES[name]]
    columns = names(kind.cls)
    records = [remembered.record(row) for row in remembered.rows(kind.name)]
    rows = []
    for record in sorted(records, key=lambda record: record.id):
        values = {column: getattr(record, column) for column in columns}
        plain = {name: each if isinstance(each, int | float) else write(each) for name, each in values.items()}
        rows.append({"id": record.id, **plain})
    return rows, ["id", *columns]


def ticket(remembered: Remembered, name: str, at: At) -> str:
    """Return the order of an approved Expression as CSV: whole shares or contracts for its notional at the last close.

    Raises BadInput if it is not approved, or can't be ordered in shares or contracts.
    """
    expression = {trade.id: trade for trade in held_in(remembered).values()}.get(name)
    if expression is None:
        raise BadInput("ID", f"{name[:40]} is not a held Expression", "see pitlake forge expressions status:active")
    path = KINDS["expressions"].path(name)
    approvals = [each for each in _approvals(remembered) if (each.subject, each.decision) == (path, "approved")]
    if not approvals:
        raise BadInput("ID", f"{name} was never approved", "see pitlake forge approvals")
    approval, nav, lines = approvals[-1], value_account(remembered, at).account.nav, list[dict[str, Any]]()
    market, side = Market(at, cash(remembered)), SIDES.get(expression.direction, 0)
    own = Leg(instrument=expression.instrument, notional=side * abs(expression.notional or 0.0), stop=expression.stop)
    for leg in expression.legs or (own,):
        rows = market.rows(leg.instrument, gaps := list[str]())
        if leg.kind != "linear" or not leg.notional or not rows:
            problem = gaps[0] if gaps else f"{leg.instrument} can't be ordered in shares"
            raise BadInput("ID", f"{name}: {problem}", "write the order by hand")
        quantity = market.quantity(leg.notional, nav, leg.instrument)
        lines.append({
            "expression": name, "approval": approval.id, "sha256": approval.sha256, "approved_by": approval.decided_by,
            "ticker": leg.instrument, "last_close": last_price(rows), "stop": leg.stop, "target": expression.target,
            "quantity": quantity if leg.notional > 0 else -quantity, "expires": expression.expires or "",
        })  # fmt: skip
    return _csv(lines, [*lines[0]])


@dataclass(frozen=True)
class _Receipt:
    models: dict[str, Any]


@dataclass(frozen=True)
class _Body:
    decision: str
    question: str
    as_of: str
    receipt: _Receipt
    rows: list[Row]


@dataclass(frozen=True)
class _Document:
    bundle: _Body
    sha256: str


class Ticket:
    """An order ticket with which a broker's fills are compared. Raises BadInput for another memory's ticket."""

    def __init__(self, file: Path, remembered: Remembered) -> None:
        with file.open(newline="", encoding="utf-8-sig") as text:
            try:
                rows = list(csv.DictReader(text))
            except (ValueError, csv.Error):
                rows = []
        if not rows or not set(rows[0]) >= TICKET or not all(QUANTITY.fullmatch(row["quantity"] or "") for row in rows):
            raise BadInput("--ticket", f"{file} is not an order ticket", "write one: pitlake forge ticket ID")
        self.expression = rows[0]["expression"]
        approvals = {(each.id, each.sha256) for each in _approvals(remembered)}
        if any((row["approval"], row["sha256"]) not in approvals for row in rows):
            step = f"write it again: pitlake forge ticket {self.expression}"
            raise BadInput("--ticket", f"its approval {rows[0]['approval'][:40]!r} is not in this memory", step)
        self._ordered = {row["ticker"]: int(row["quantity"]) for row in rows}

    def assign(self, fill: Fill) -> Fill:
        """Return a fill, assigned to the ticket's Expression."""
        return fill if fill.expression else replace(fill, expression=self.expression)

    def check(self, booked: Iterable[Fill], new: Sequence[Fill]) -> None:
        """Raise BadInput unless the fills have the ordered tickers and sides, and do not exceed the order."""
        for fill in new:
            ordered = self._ordered.get(fill.instrument, 0)
            if fill.expression != self.expression or ordered * fill.quantity <= 0:
                what = f"{fill.quantity:g} {fill.instrument} of {fill.expression} is not on the ticket"
                raise BadInput("fills", what, "import it without --ticket")
        for ticker, (filled, ordered) in self.filled([*booked, *new]).items():
            if abs(filled) > abs(ordered):
                what = f"{filled:g} {ticker} would be filled of {ordered} ordered"
                raise BadInput("fills", what, "compare the file with the ticket, or import it without --ticket")

    def filled(self, booked: Iterable[Fill]) -> dict[str, tuple[float, int]]:
        """Return the filled and the ordered quantity of each ticker."""
        sums = dict.fromkeys(self._ordered, 0.0)
        for fill in booked:
            if fill.expression == self.expression and fill.quantity * self._ordered.get(fill.instrument, 0) > 0:
                sums[fill.instrument] += fill.quantity
        return {ticker: (filled, self._ordered[ticker]) for ticker, filled in sums.items()}


def bundle(own: Desk, memory: Memory, decision: str) -> str:
    """Return a decision as JSON: question, receipt, and every text of its records, reviews, approvals, fills, outcome.

    Raises BadInput for a decision that is not on the tape or has not ended.
    """
    inputs, receipt = own.tape.inputs(decision), own.tape.receipt(decision)
    if receipt is None:
        raise BadInput("DECISION", f"{decision[:60]} has not ended", "continue it: pitlake forge ask --resume")
    remembered = memory.hydrate(memory.read_instant(memory.journal.clock.now()))
    edges = lineage(memory, own.tape, decision)
    names = {name for edge in edges for name in (edge.earlier, edge.later)}
    paths = {
        path for path in remembered.paths() if (kind := kind_of_path(path)) and path[len(kind.folder) : -3] in names
    }
    judged = [path for kind in ("reviews", "approvals") for path in remembered.paths(KINDS[kind].folder)]
    paths |= {path for path in judged if getattr(remembered.record(remembered.all(path)[0]), "subject", "") in paths}
    rows = sorted((row for path in paths for row in remembered.all(path)), key=lambda row: row.seq)
    body = {
        "decision": decision,
        "question": inputs["text"],
        "as_of": inputs["as_of"],
        "receipt": json.loads(receipt),
        "rows": [asdict(row) for row in rows],
    }
    return json.dumps({"bundle": body, "sha256": digest(canonical(body))}, ensure_ascii=False, indent=1) + "\n"


def verify(text: str) -> tuple[list[str], list[str]]:
    """Return lines that summarise a bundle, and its faults. Raises BadInput if the text is not a bundle."""
    try:
        document = TypeAdapter(_Document).validate_json(text, strict=True)
        body, rows = document.bundle, document.bundle.rows
        records = [(row, parse(kind, row.content)) for row in rows if (kind := kind_of_path(row.path))]
        lines = [
            f"decision {body.decision} as of {body.as_of}",
            f"question: {body.question}",
            f"models: {', '.join(body.receipt.models)}",
            *(_line(row, record) for row, record in records),
            f"SHA-256 {document.sha256}",
        ]
    except (ValueError, BadInput) as problem:
        first = problem.errors()[0] if isinstance(problem, ValidationError) else None
        where = ".".join(map(str, first["loc"])) if first else ""
        what = f"{where or 'the text'}: {first['msg']}" if first else str(problem)
        raise BadInput("FILE", f"is not a bundle ({what})", "write one: pitlake forge bundle DECISION") from None
    same = digest(canonical(json.loads(text)["bundle"])) == document.sha256
    faults = [] if same else ["the SHA-256 of the bundle differs"]
    faults += [f"row {row.seq} {row.path} was changed" for row in rows if not is_intact(row)]
    for earlier, later in pairwise(rows):
        adjacent = later.seq == earlier.seq + 1 and later.prev != earlier.chain
        if adjacent or later.seq <= earlier.seq or later.written_at <= earlier.written_at:
            faults.append(f"row {later.seq} {later.path} does not follow row {earlier.seq}")
    # A trade becomes active only with a reviewed and approved text. An approved trade may get new terms.
    reviewed, approved, texts = set[str](), dict[str, set[str]](), dict[str, set[str]]()
    lasting = {content_hash(x): content_hash(replace(x, **TERMS)) for _, x in records if isinstance(x, Expression)}
    for row, record in records:
        if isinstance(record, Review) and record.verdict in APPROVING:
            reviewed.add(record.sha256)
        elif isinstance(record, Approval) and record.decision == "approved":
            lasting_hash, before = lasting.get(record.sha256, record.sha256), approved.setdefault(record.subject, set())
            if record.sha256 not in reviewed & texts.get(record.subject, set()) and lasting_hash not in before:
                faults.append(f"{record.id} approves a text of {record.subject} that is not here, or has no review")
            before.add(lasting_hash)
        elif isinstance(record, Expression):
            texts.setdefault(row.path, set()).add(content_hash(record))
    faults += [
        f"{record.id} is active without an approval"
        for row, record in records
        if isinstance(record, Expression) and record.status == "active" and row.path not in approved
    ]
    return lines, faults


def _line(row: Row, record: Record) -> str:
    when = iso(from_micros(row.written_at))
    if isinstance(record, Review):
        return f"{when} {record.id} review by {record.reviewer}: {record.verdict}"
    if isinstance(record, Approval):
        return f"{when} {record.id} {record.decision} by {record.decided_by}: {record.subject}"
    if isinstance(record, Fill):
        return f"{when} {record.id} {record.quantity:g} {record.instrument} at {record.price:g}, {record.status}"
    return f"{when} {record.id} {getattr(record, 'status', '')}".rstrip()


def _approvals(remembered: Remembered) -> list[Approval]:
    rows = sorted(remembered.rows("approvals"), key=lambda row: row.seq)
    return [cast("Approval", remembered.record(row)) for row in rows]


def _csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return rows as CSV. Text that a spreadsheet would run as a formula gets a leading apostrophe."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[column]) for column in columns])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(FORMULAS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
