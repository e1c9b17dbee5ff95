"""Line items, quarters and trailing twelve months match an independent computation over the same facts."""

import csv
import json
from collections import defaultdict
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from pitlake.datasets import get
from pitlake.errors import BadInput
from pitlake.questions import catalogue, line_items
from tests.catalogue.conftest import World
from tests.catalogue.line_item_oracle import Oracle
from tests.catalogue.made_companies import company

HERE = Path(__file__).parent
LATER = datetime(2030, 1, 1, tzinfo=timezone.utc)
SEEDS = 5
DATASETS = ("xbrl_facts", "sec_facts")


class Companies:
    """A world with responses of companyfacts, and an oracle for each company."""

    def __init__(self, answers, as_of="2030-01-01T00:00:00Z"):
        self.world = World(as_of, {}, DATASETS)
        self.answers = {str(answer["cik"]).zfill(10): answer for answer in answers}
        dataset = get("sec_facts")
        columns = [*dataset.agent_columns, "content_hash"]
        rows = [row for cik, answer in self.answers.items() for row in stored(cik, answer)]
        schema = pa.schema([dataset.arrow_schema.field(name) for name in columns])
        table = pa.Table.from_pylist([dict.fromkeys(columns) | row for row in rows], schema)
        self.world.connection.register(
            "made_rows", table.filter(pa.compute.field("available_at") <= datetime.fromisoformat(as_of))
        )
        self.world.connection.execute(f"INSERT INTO lake.sec_facts ({', '.join(columns)}) FROM made_rows")

    def oracle(self, cik):
        concepts = self.world.connection.execute(
            "FROM line_item_concepts() SELECT item, kind, concept, place"
        ).fetchall()
        sums, parts = (
            self.world.connection.execute(f"FROM {macro}()").fetchall()
            for macro in ("line_item_sums", "line_item_parts")
        )
        return Oracle(self.answers[cik], concepts, sums, parts)

    def at(self, pairs, fields):
        """Return the fields known at (CIK, instant) pairs, by CIK, instant and field."""
        query = catalogue.get("line_items_as_of_event")
        bound = query.bind({"pairs": pairs, "fields": fields})
        listing = [pair | {"company": pair["ticker"]} for pair in json.loads(bound["pairs"])]
        rows = self.world.ask(query.sql, bound | {"pairs": json.dumps(listing)})
        return {(row["ticker"], row["at"], row["field"]): row for row in rows}


def stored(cik, answer):
    """Yield the rows of `sec_facts` from a response of companyfacts, each public on the evening of its filing date."""
    for taxonomy, concepts in answer["facts"].items():
        for name, concept in concepts.items():
            for unit, facts in concept["units"].items():
                for fact in facts:
                    start, public = fact.get("start") or None, datetime.fromisoformat(f"{fact['filed']}T22:00:00Z")
                    yield {
                        "cik": cik,
                        "concept": f"{taxonomy}:{name}",
                        "unit": unit,
                        "period_type": "duration" if start else "instant",
                        "period_start": start and date.fromisoformat(start),
                        "period_end": date.fromisoformat(fact["end"]),
                        "value": str(fact["val"]),
                        "value_number": float(fact["val"]),
                        "accession_no": fact["accn"],
                        "form_type": fact["form"],
                        "filing_date": date.fromisoformat(fact["filed"]),
                        "available_at": public,
                        "accepted_at": public,
                        "available_at_source": "edgar_accepted",
                        "evidence": f"{name}/{unit}/{start or ''}/{fact['end']}/{fact['accn']}",
                        "content_hash": b"",
                    }


@pytest.fixture(scope="module")
def made_companies_world():
    companies = Companies(company(seed) for seed in range(SEEDS))
    yield companies
    companies.world.connection.close()


def filings(row):
    return sorted(part.split()[-1] for part in row["made_of"].split("|"))


def test_quarters_years_and_trailing_months_equal_an_independent_computation(made_companies_world):
    compared = 0
    for cik in made_companies_world.answers:
        expected = made_companies_world.oracle(cik).periods(LATER)
        rows = made_companies_world.world.run("quarters", ticker=cik, spans=list(line_items.SPANS))
        result = {(row["item"], row["span"], row["period_end"]): row for row in rows}
        assert result.keys() == expected.keys()
        for key, figure in expected.items():
            row = result[key]
            assert row["value"] == pytest.approx(figure.value, abs=1e-6), key
            assert (row["period_start"], row["available_at"]) == (figure.start, figure.public), key
            assert filings(row) == sorted(figure.filings), key
        assert len(rows) == len(expected)
        compared += len(rows)
    assert compared > 1500


def test_a_panels_line_items_equal_an_independent_computation_at_24_instants(made_companies_world):
    fields = ["revenue_ttm", "net_income", "eps_diluted", "eps_diluted_ttm", "free_cash_flow_year", "debt", "assets"]
    instants = [datetime(2015, 5, 1, 22, tzinfo=timezone.utc) + timedelta(days=73 * n) for n in range(24)]
    result = made_companies_world.at([(cik, at) for cik in made_companies_world.answers for at in instants], fields)
    filled = 0
    for cik in made_companies_world.answers:
        oracle = made_companies_world.oracle(cik)
        for at in instants:
            newest = oracle.newest(at)
            for field in fields:
                item = line_items.fields()[field]
                alone = "balance" if line_items.kinds()[item] == "balance" else "quarter"
                figure, row = newest.get((item, field[len(item) + 1 :] or alone)), result.get((cik, at, field))
                assert (figure is None) == (row is None), (cik, at, field, figure, row)
                if figure and row:
                    assert row["value"] == pytest.approx(figure.value, abs=1e-6), (cik, at, field)
                    assert (row["period_end"], row["available_at"]) == (figure.end, figure.public), (cik, at, field)
                    assert row["available_at"] <= at
                    filled += 1
    assert filled > 400


def test_later_facts_change_no_earlier_line_item(made_companies_world):
    cut = datetime(2017, 3, 1, tzinfo=timezone.utc)
    pairs = [(cik, cut - timedelta(days=days)) for cik in made_companies_world.answers for days in (0, 200, 400)]
    fields = list(line_items.fields())
    truncated = Companies(made_companies_world.answers.values(), cut.isoformat().replace("+00:00", "Z"))
    assert truncated.at(pairs, fields) == made_companies_world.at(pairs, fields)
    truncated.world.connection.close()


def test_every_line_item_names_its_concept_form_and_filing(made_companies_world):
    for cik, answer in list(made_companies_world.answers.items())[:3]:
        statement = {
            (f"us-gaap:{name}", fact["form"], fact["accn"])
            for name, concept in answer["facts"]["us-gaap"].items()
            for facts in concept["units"].values()
            for fact in facts
        }
        rows = made_companies_world.world.run("line_items", ticker=cik)
        assert {row["method"] for row in rows} == {"stated", "summed"}
        for row in rows:
            parts = list(zip(*(row[name].split("|") for name in ("concept", "form_type", "accession_no")), strict=True))
            assert statement.issuperset(parts)
            assert len(parts) == len(row["evidence_ids"]) == (1 if row["method"] == "stated" else len(parts))
            assert not any("14A" in form for _, form, _ in parts)


FACT = {"form": "10-K", "filed": "2020-02-20"}


def one_company(**concepts):
    """Return a company with these facts in dollars: (start, end, value, accession number, other fields)."""
    units = {
        name: {"units": {"USD": [
            FACT | {"start": start, "end": end, "val": value, "accn": accession} | other
            for start, end, value, accession, other in facts
        ]}}
        for name, facts in concepts.items()
    }  # fmt: skip
    return Companies([{"cik": 7, "facts": {"us-gaap": units}}])


def test_a_proxy_statement_never_beats_the_annual_report():
    year = ("2019-01-01", "2019-12-31")
    facts = [
        (*year, -41_800_000, "a-1", {}),
        (*year, 41_800_000_000, "a-2", {"form": "PRE 14A", "filed": "2020-03-20"}),
        ("2020-01-01", "2020-12-31", 5, "a-3", {"form": "DEF 14A", "filed": "2021-01-05"}),
    ]
    rows = one_company(NetIncomeLoss=facts).world.run("line_items", ticker="0000000007")
    assert [(row["value"], row["form_type"], row["accession_no"]) for row in rows] == [(-41_800_000, "10-K", "a-1")]


def test_a_quarter_that_cannot_be_computed_is_absent_and_not_replaced_by_an_older_one():
    facts = [
        ("2019-07-01", "2019-09-30", 3, "a-1", {"form": "10-Q", "filed": "2019-10-20"}),
        ("2019-01-01", "2019-12-31", 40, "a-2", {}),
    ]
    companies = one_company(Revenues=facts)
    result = companies.at([("0000000007", "2020-03-01T00:00:00Z")], ["revenue", "revenue_ttm"])
    assert [(key[2], row["value"]) for key, row in result.items()] == [("revenue_ttm", 40)]


def test_trailing_months_of_half_year_reporters_bridge_two_years():
    facts = [
        ("2018-01-01", "2018-06-30", 10, "a-1", {"filed": "2018-08-20", "form": "20-F"}),
        ("2018-01-01", "2018-12-31", 25, "a-2", {"filed": "2019-02-20", "form": "20-F"}),
        ("2019-01-01", "2019-06-30", 14, "a-3", {"filed": "2019-08-20", "form": "20-F"}),
    ]
    rows = one_company(Revenues=facts).world.run("quarters", ticker="0000000007", spans=["ttm"])
    newest = rows[0]
    assert (newest["value"], newest["method"]) == (29, "year and part of the next")
    assert (newest["period_start"], newest["period_end"]) == (date(2018, 7, 1), date(2019, 6, 30))
    assert filings(newest) == ["a-1", "a-2", "a-3"]


@pytest.mark.parametrize(
    ("query", "values", "nearest"),
    [
        ("line_items", {"ticker": "A", "items": "revenu"}, "revenue"),
        ("quarters", {"ticker": "A", "spans": "quartr"}, "quarter"),
        ("line_items_as_of_event", {"pairs": [("A", "2020-01-01T00:00:00Z")], "fields": "revenu_ttm"}, "revenue_ttm"),
    ],
)
def test_an_unknown_name_is_refused_and_the_nearest_name_suggested(query, values, nearest):
    with pytest.raises(BadInput, match=f"did you mean {nearest}"):
        catalogue.get(query).bind(values)


def test_the_mapping_in_python_equals_that_in_sql(made_companies_world):
    rows = made_companies_world.world.connection.execute(
        "FROM line_item_concepts() SELECT DISTINCT item, kind"
    ).fetchall()
    rows += made_companies_world.world.connection.execute("FROM line_item_sums() SELECT DISTINCT item, kind").fetchall()
    assert line_items.kinds() == dict(rows)
    terms = {
        row[0] for row in made_companies_world.world.connection.execute("FROM line_item_sums() SELECT term").fetchall()
    }
    assert terms <= line_items.kinds().keys()


def table(name):
    with (HERE / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_line_items_equal_published_figures_of_real_companies():
    """The facts are from EDGAR, the figures from companies' reports and releases. An empty value means no figure."""
    answers = {}
    for row in table("real_facts.csv"):
        taxonomy, name = row.pop("concept").split(":")
        answer = answers.setdefault(row["cik"], {"cik": row.pop("cik"), "facts": {}})
        units = answer["facts"].setdefault(taxonomy, {}).setdefault(name, {"units": defaultdict(list)})["units"]
        units[row.pop("unit")].append(row | {"val": float(row["val"])})
    companies = Companies(answers.values())
    expected = {
        (row["cik"], row["item"], row["span"], row["period_end"]): float(row["value"]) if row["value"] else None
        for row in table("real_figures.csv")
    }
    result = {
        (cik, row["item"], row["span"], str(row["period_end"])): row["value"]
        for cik in answers
        for row in companies.world.run("quarters", ticker=cik, spans=list(line_items.SPANS))
    }
    assert len(expected) >= 60
    assert {key: result.get(key) for key in expected} == pytest.approx(expected)
