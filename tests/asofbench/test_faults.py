"""Faults planted in an otherwise correct adapter: a class or a control finds each of them."""

import json
import os
from dataclasses import asdict, replace
from datetime import datetime, timedelta, timezone

import pytest

from asofbench.adapters.base import newest
from asofbench.adapters.controls import Oracle
from asofbench.generate import SEED
from asofbench.model import read
from asofbench.run import graded
from asofbench.systems import System
from asofbench.worker import output_kept, replies

MICROSECOND = timedelta(microseconds=1)


class Faulty(Oracle):
    """An oracle with the fault that its option `fault` names: changes to T, loaded rows, visible rows or answers."""

    def load(self, rows):
        super().load(rows)
        self.write()
        self.rows = [*filter(None, (FAULTS[self.options["fault"]].get("row", same)(pair) for pair in self.rows))]

    def write(self):
        (self.folder / "rows.json").write_text(json.dumps([row["text"] for _, row in self.rows]))

    def retract(self, loaded_at):
        FAULTS[self.options["fault"]].get("retract", Oracle.retract)(self, loaded_at)

    def erase(self, entity):
        FAULTS[self.options["fault"]].get("erase", erased_in_its_file)(self, entity)

    def visible(self, at, loaded_by=None):
        fault = FAULTS[self.options["fault"]]
        rows = super().visible(fault.get("at", same)(at), fault.get("by", same)(loaded_by))
        return fault.get("rows", lambda rows, _: rows)(rows, self.rows)

    visible_by = visible

    def ask(self, question):
        fault = FAULTS[self.options["fault"]]
        answer = super().ask(replace(question, **fault.get("question", {})))
        return fault.get("answer", lambda answer, *_: answer)(answer, question, self.rows)


def same(value):
    return value


def dated_again(rule):
    return lambda pair: (rule(*pair), pair[1])


def printed(answer, question, rows):
    os.write(1, str([row["text"] for public, row in rows if public > read(question.as_of)]).encode())
    return answer


def quoted(answer, question, rows):
    if question.kind == "error":
        raise ValueError(f"no integer: {rows[-1][1]['text']} {[row['text'] for _, row in rows]}")
    return answer


def changed(**values):
    return lambda rows, _: [row | {name: change(row) for name, change in values.items()} for row in rows]


def any_newest(choose):
    def rows_of(_, pairs):
        return choose(pairs)

    return rows_of


def items_of(store, came):
    return {row["item"] for _, row in store.rows if row["loaded_at"] == came}


def erased_in_its_file(store, entity):
    Oracle.erase(store, entity)
    store.write()


def only_newest(store):
    by_item = {(row["entity"], row["item"]): (public, row) for public, row in store.rows}
    store.rows = [*by_item.values()]


FAULTS = {
    "T is read as its day": {"at": lambda at: at.replace(hour=23, minute=59, second=59)},
    "T in seconds": {"at": lambda at: at.replace(microsecond=0)},
    "T is a microsecond late": {"at": lambda at: at + MICROSECOND},
    "T is a microsecond early": {"at": lambda at: at - MICROSECOND},
    "T in another zone": {"at": lambda at: at + timedelta(hours=5)},
    "T is now": {"at": lambda _: datetime.now(timezone.utc)},
    "stamps in seconds": {"row": dated_again(lambda public, _: public.replace(microsecond=0))},
    "stamps by day": {"row": dated_again(lambda public, _: public.replace(hour=0, minute=0, second=0))},
    "no rule of first sight": {"row": dated_again(lambda _, row: row["available_at"])},
    "rows count from their arrival": {"row": dated_again(lambda public, row: max(public, row["loaded_at"]))},
    "rows count from their event": {"row": dated_again(lambda _, row: row["event"])},
    "archives are left out": {"row": lambda pair: pair if pair[0] >= pair[1]["loaded_at"] else None},
    "what arrived last is current": {
        "rows": any_newest(lambda pairs: newest([row | {"available_at": row["loaded_at"]} for _, row in pairs]))
    },
    "the bound of arrival is ignored": {"question": {"loaded_by": ""}},
    "the bound of arrival is T": {"by": lambda by: by and by - timedelta(days=15)},
    "numbers as whole numbers of thousands": {"rows": changed(value=lambda row: row["value"] // 1000)},
    "texts are cut": {"rows": changed(text=lambda row: row["text"][:10])},
    "another entity's rows": {"rows": changed(entity=lambda row: row["entity"][::-1])},
    "one row is left out": {"rows": lambda rows, _: rows[1:]},
    "nothing after an error": {"answer": lambda answer, question, _: None if question.kind == "rows" else answer},
    "a withdrawn delivery stays": {"retract": lambda *_: None},
    "all later deliveries are withdrawn, too": {
        "retract": lambda store, came: store._keep(lambda row: row["loaded_at"] < came)
    },
    "what a delivery replaced is gone": {
        "retract": lambda store, came: store._keep(lambda row: row["item"] not in items_of(store, came))
    },
    "an erased entity is still shown": {"erase": lambda *_: None},
    "an erased entity is still in a file": {"erase": Oracle.erase},
    "an erasure leaves only what is newest": {
        "worlds": ("filings",),
        "erase": lambda store, entity: (erased_in_its_file(store, entity), only_newest(store)),
    },
    "all is erased": {"erase": lambda store, _: store._keep(lambda row: False)},
    "a log shows what is hidden": {"answer": printed},
    "an error quotes what is hidden": {"answer": quoted},
    "a count of all rows": {
        "answer": lambda answer, question, rows: len(rows) if question.kind == "counts" else answer
    },
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_planted_in_a_right_adapter_is_found(found, fault):
    card = System(
        name=fault,
        family="own",
        configuration="own",
        how="",
        adapter=f"{__name__}:Faulty",
        options={"careful": True, "fault": fault},
    )
    worlds = FAULTS[fault].get("worlds", ("fundamentals",))
    with output_kept() as log:
        message = [(case, which, asdict(reply)) for case, which, reply in replies(card, SEED, worlds, log)]
    assert [each.case for each in graded(found, message) if each.verdict != "caught" or not each.control]
