"""What users of pandas, polars and DuckDB try first on a session or a result works, or the error says what to do."""

import re
from datetime import date, datetime

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pitlake
from pitlake.errors import PitlakeError
from pitlake.lake.lake import Lake

T = "2024-05-29T17:00:00-04:00"
MINE = pd.DataFrame({"symbol": ["QBG"], "weight": [0.5]})
DAYS = pd.DataFrame({"date": pd.to_datetime(["2024-05-21"])})


@pytest.fixture(scope="module")
def s(market_lake):
    with pitlake.connect(T, lake=market_lake, isolation="in_process") as session:
        session.load("mine", MINE)
        yield session


@pytest.fixture(scope="module")
def r(s):
    return s.sql("SELECT symbol, date, close, available_at FROM prices WHERE symbol = 'QBG' ORDER BY date")


WORKS = {
    "frames": "pd.DataFrame(r), r.df(), r.fetchdf(), r.to_pandas()",
    "polars": "pl.DataFrame(r), pl.from_arrow(r), r.pl(), r.polars()",
    "arrow": "pa.table(r), r.arrow()",
    "DuckDB": "duckdb.sql('FROM r').fetchall()",
    "rows": "[*r], [row for row in r], r.rows(), r.fetchall(), r[:]",
    "length": "r['close'], r.close, r.fetchnumpy()['close']",
}


@pytest.mark.parametrize("tries", WORKS.values(), ids=WORKS)
def test_a_result_has_the_same_number_of_rows_in_every_form(r, tries):
    names = {"pd": pd, "pl": pl, "pa": pa, "duckdb": duckdb, "r": r}
    assert len(r) > 2
    assert [len(form) for form in eval(f"[{tries}]", names)] == [len(r)] * (tries.count(", ") + 1)


def test_rows_and_columns_are_reached_by_index_name_and_slice(r, capsys):
    first = r.rows()[0]
    assert (r[0], r[0].symbol, r["close"][0], r.fetchone(), r.fetchone()) == (
        first,
        "QBG",
        first[2],
        first,
        r.rows()[1],
    )
    assert pd.DataFrame(r)["close"].tolist() == pl.DataFrame(r)["close"].to_list() == r.close
    assert (r[-1], r[1:3]) == (r.rows()[-1], r.rows()[1:3])
    assert r.head(2)["symbol"].tolist() == ["QBG", "QBG"]
    assert "<table>" in r._repr_html_()
    r.show()
    assert "QBG" in capsys.readouterr().out


def test_days_are_timestamps_in_a_frame(r):
    frame = r.df()
    assert frame["date"].dt.year.tolist() == [day.year for day in r["date"]]
    assert pd.merge_asof(DAYS, frame, on="date")["close"].notna().all()


def test_a_results_frame_can_be_plotted(r):
    (line,) = r.df().plot(x="date", y="close").lines
    assert len(line.get_xdata()) == len(r)


def test_columns_whose_names_are_not_attributes_are_read_by_key_or_position(s):
    odd = s.sql('SELECT 1 AS "from", 2 AS "a b", 3 AS rows, 4 AS x')
    assert (odd["from"], odd["a b"], odd["rows"], odd[0].x, odd[0]._0) == ([1], [2], [3], 4, 1)
    assert odd.rows() == [(1, 2, 3, 4)]


QUESTIONS = [
    ("s.sql('SELECT weight FROM mine JOIN prices USING (symbol) LIMIT 1')", [(0.5,)]),
    ("s.sql('SELECT ?', [np.float64(1.5)])", [(1.5,)]),
    ("s.sql('SELECT $1 + $2', [1, np.int64(2)])", [(3,)]),
    ("s.sql('SELECT 1 WHERE $a IN $b', {'a': 1, 'b': [1, 2]})", [(1,)]),
    ("s.sql('SELECT 1; SELECT 2')", [(2,)]),
    ("s.sql('CREATE TABLE t AS SELECT 1 AS a; FROM t')", [(1,)]),
    ("s.sql('CREATE MACRO twice(a) AS 2 * a; SELECT twice(3)')", [(6,)]),
    ("s.sql('SELECT now() = $t', {'t': datetime.fromisoformat(T)})", [(True,)]),
    ("s.sql('SELECT count(*) > 3 FROM (SUMMARIZE prices)')", [(True,)]),
    ("len(s.sql('FROM prices')) > 3", True),
    ("len(s.sql('PIVOT prices ON date USING max(close) GROUP BY symbol')) > 0", True),
    ("s.sql('FROM prices QUALIFY row_number() OVER () = 1').arrow().select(['symbol']).num_rows", 1),
]


@pytest.mark.parametrize(("question", "expected"), QUESTIONS, ids=[question for question, _ in QUESTIONS])
def test_common_first_questions_are_answered(s, question, expected):
    answer = eval(question, {"s": s, "np": np, "datetime": datetime, "T": T})
    assert (answer.rows() if isinstance(answer, type(s.sql("SELECT 1"))) else answer) == expected


def test_views_and_named_queries_are_reached_from_the_session(s):
    rows = s.sql("SELECT count(*) FROM prices").rows()[0][0]
    assert len(s["prices"]) == len(s.prices) == rows
    assert {"prices", "news"} <= set(s.datasets)
    assert repr(s).startswith("Session(as_of=2024-05-29T21:00:00Z")
    assert s.run("news_latest", "QBG").rows() == s.run("news_latest", ticker="QBG").rows()


SAYS = [
    ("s.sql('SELECT * FROM my_frame')", r'session\.load\("mine", frame\)'),
    ("s.sql('SELECT * FROM other')", r'session\.load\("mine", frame\)'),
    ("s.sql('SELECT :a', {'a': 1})", r"\$name, not :name"),
    ("s.sql(\"FROM read_parquet('x.parquet')\")", r"pitlake mount"),
    ("s.register('mine', None)", r"session\.load"),
    ("s.from_df(None)", r"session\.load"),
    ("s.tables()", r"session\.datasets"),
    ("s.panel(['QBG'], ['close'])", r"pitlake panel"),
    ("s.cursor()", r"session\.sql"),
    ("s['price']", r"did you mean prices"),
    ("s.run('news')", r"choose one of"),
    ("s.run('news_latest', 'QBG', ticker='QBG')", r"once, by its name"),
    ("r['closed']", r"the columns are symbol, date, close"),
    ("r.plot()", r"df\(\) is a pandas DataFrame"),
    ("r.to_csv('x.csv')", r"df\(\) is a pandas DataFrame"),
    ("pitlake.connect()", r"give an instant such as"),
    ("pitlake.connect('2024-05-29')", r"a date without time and offset is not an instant"),
    ("pitlake.connect(date(2024, 5, 29))", r"a date without time and offset is not an instant"),
    ("pitlake.connect(pd.Timestamp('2024-05-29 17:00'))", r"has no time zone"),
    ("pitlake.connect('2024-05-29T17:00 America/Newyork')", r"there is no time zone 'America/Newyork'"),
    ("pitlake.connect('2024-03-10 02:30 America/New_York')", r"clocks in America/New_York were changed at"),
    ("pitlake.connect('/data/lake', '2024-05-29')", r"a date without time and offset is not an instant"),
    ("pitlake.connect('/data/lake', T, lake='/data')", r"given twice, /data/lake and /data"),
    ("pitlake.connect(datetime.fromisoformat(T), T)", r"as_of: given twice"),
    ("pitlake.connect('/data/lake')", r"expected YYYY-MM-DD.* with Z or an offset"),
]


@pytest.mark.parametrize(("question", "words"), SAYS, ids=[question for question, _ in SAYS])
def test_a_call_that_does_not_work_says_what_to_type(s, r, question, words):
    with pytest.raises((PitlakeError, AttributeError, KeyError), match=words) as raised:
        eval(question, {"s": s, "r": r, "pitlake": pitlake, "date": date, "datetime": datetime, "pd": pd, "T": T})
    assert not re.search("date_only|not_iso|pg_", str(raised.value))


OPENS = [
    "connect(pd.Timestamp('2024-05-29 17:00', tz='America/New_York'), lake=lake, **options)",
    "connect('2024-05-29T17:00 America/New_York', lake=lake, **options)",
    "connect(str(lake.root), '2024-05-29 17:00:00 America/New_York', **options)",
    "connect(lake, T, **options)",
    "connect(lake.root, as_of=T, **options)",
    "connect(as_of=T, lake=lake, **options)",
]


@pytest.mark.parametrize("call", OPENS)
def test_every_common_call_of_connect_opens_a_session(market_lake, call):
    lake, options = Lake(market_lake), {"isolation": "in_process", "datasets": ["news"]}
    with eval(call, {"connect": pitlake.connect, "pd": pd, "lake": lake, "T": T, "options": options}) as session:
        assert session.as_of == datetime.fromisoformat(T)


def test_polars_reads_a_session_as_a_database(s):
    frame = pl.read_database("SELECT symbol, close FROM prices ORDER BY date LIMIT 3", s)
    assert frame.equals(s.execute("SELECT symbol, close FROM prices ORDER BY date LIMIT 3").pl())
