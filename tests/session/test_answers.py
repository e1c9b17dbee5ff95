"""Values that a session returns unchanged: numbers that JSON lacks, enums at any depth, absent fields."""

import math
import struct

import pytest

from pitlake.session.arguments import LEFT_OUT, hint
from pitlake.session.limits import Failure
from pitlake.session.sealed.untrusted_ipc import _field


@pytest.mark.parametrize("isolation", ["process", "in_process"])
def test_numbers_that_json_lacks_can_be_bound(ask, isolation):
    session = ask(isolation=isolation)
    assert session.sql("SELECT isnan(?)", [math.nan]).rows() == [(True,)]
    assert session.sql("SELECT ?, ?", [math.inf, -math.inf]).rows() == [(math.inf, -math.inf)]


@pytest.mark.parametrize("isolation", ["process", "in_process"])
def test_enums_are_returned_as_text_at_any_nesting_depth(ask, isolation):
    mood = "'a'::ENUM('a', 'b')"
    reply = ask(isolation=isolation).sql(
        f"""SELECT {mood} AS plain, {{'x': {mood}, 'y "z"': [{mood}]}} AS struct, [{mood}] AS list,
        [{mood}, {mood}]::ENUM('a', 'b')[2] AS pair, map {{{mood}: [{mood}]}} AS map"""
    )
    assert reply.rows() == [("a", {"x": "a", 'y "z"': ["a"]}, ["a"], ["a", "a"], [("a", ["a"])])]


def test_instants_in_rows_equal_those_that_arrow_converts(ask):
    instants = "'0001-01-01 00:00:00Z', '1969-12-31 23:59:59.999999Z', NULL, '9999-12-31 23:59:59.999999Z'"
    result = ask().sql(f"SELECT unnest([{instants}]::TIMESTAMPTZ[]) AS at, now()::TIMESTAMPTZ AS asked")
    by_arrow = [tuple(row.values()) for row in result.arrow().to_pylist()]
    assert repr(result.rows()) == repr(by_arrow)


def test_answers_render_as_html_tables_and_receipts_print_on_a_single_line(ask):
    session = ask()
    reply = session.sql(
        "SELECT i AS n, '<b>' || repeat('x', 500) AS text, NULL AS nothing, [i] AS list FROM range(30) t(i)"
    )
    display = reply._repr_html_()
    assert display.count("<tr>") == 1 + 20
    assert "<th>text</th>" in display
    assert "<td>19</td>" in display
    assert "<td>[19]</td>" in display
    assert "<td></td>" in display
    assert "<b>" not in display
    assert "&lt;b&gt;xxx" in display
    assert len(display) < 20 * 200
    assert f"20 of 30 rows, as of {session.as_of.strftime('%Y-%m-%dT%H:%M:%SZ')}" in display
    assert "2 rows" in session.sql("SELECT * FROM range(2)")._repr_html_()
    receipt = reply.receipt
    assert (
        str(receipt)
        == repr(receipt)
        == (
            f"Receipt(as_of={receipt.as_of}, version={receipt.version}, rows=30, result_sha256={receipt.result_sha256})"
        )
    )


def test_a_field_beyond_the_tables_field_list_is_read_as_absent():
    fields = struct.pack("<HHHH", 6, 0, 8, 0xFFFF)  # room for one field; the bytes after it do not belong to the table
    message = memoryview(fields.ljust(16, b"\0") + struct.pack("<i", 16))
    assert [_field(message, 16, number) for number in range(3)] == [24, 0, 0]


@pytest.mark.parametrize(
    "message",
    ['Referenced column "Ticker" not found in FROM clause!', "Table Function with name news_of does not exist!"],
)
def test_the_hint_about_omitted_hindsight_appears_only_for_omitted_columns(message):
    failure = Failure("BinderException", message)
    assert hint(failure, (), (), (), ("ticker",)) == LEFT_OUT
    assert hint(failure, (), (), ()) == ""
    assert hint(Failure("BinderException", "something else"), (), (), (), ("ticker",)) == ""
