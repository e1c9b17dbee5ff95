"""examples/bt_backtest.py: the strategy trades a day after the move it reacts to, and splits do not look like moves."""

import os
import subprocess
import sys
from datetime import date, timedelta

import pytest

from tests.answers import poll_without_rows
from tests.derived.conftest import utc

JUMP, FALL, REVERSE_SPLIT = 6, 9, 4
DAYS = [day for day in (date(2024, 1, 2) + timedelta(days=n) for n in range(21)) if day.weekday() < 5][:12]


def bar(ticker, number, close):
    prices = dict.fromkeys(("open", "high", "low", "close"), close)
    dated = {"date": DAYS[number], "available_at": utc(f"{DAYS[number]}T21:00Z")}
    return {"ticker": ticker, "volume": 1e6} | dated | prices


@pytest.fixture
def lake_of_bars(lake, put):
    put("own_bars", *(bar("RISE", n, 100.0 if n < JUMP else 110.0 if n < FALL else 88.0) for n in range(len(DAYS))))
    put("own_bars", *(bar("SPLT", n, 100.0 if n < REVERSE_SPLIT else 400.0) for n in range(len(DAYS))))
    day = DAYS[REVERSE_SPLIT]
    split = {"split_id": "SPLT", "ticker": "SPLT", "execution_date": day, "split_from": 4.0, "split_to": 1.0}
    put("splits", split | {"available_at": utc(f"{day}T05:00Z")})
    return lake


def backtest(lake, home):
    command = [sys.executable, "examples/bt_backtest.py", str(DAYS[0]), str(DAYS[-1]), "RISE", "SPLT"]
    environment = {"PITLAKE_LAKE": str(lake.root), "HOME": str(home), "PATH": os.environ["PATH"]}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def test_a_backtest_without_polled_dividends_fails_and_names_the_shares(lake_of_bars, tmp_path):
    run = backtest(lake_of_bars, tmp_path)
    assert run.returncode == 1
    assert run.stderr == "the return of RISE, SPLT is unknown: the notes of `pitlake run total_return` say why\n"


def test_a_backtest_trades_the_day_after_the_move_it_reacts_to(lake_of_bars, tmp_path):
    poll_without_rows(lake_of_bars, "polygon_dividends", "RISE", "SPLT")
    run = backtest(lake_of_bars, tmp_path)
    assert run.returncode == 0, run.stderr
    header, *lines, last = run.stdout.splitlines()
    content = {line.split(",")[0]: line.split(",")[1:] for line in lines}
    assert header == ",RISE"
    assert [day for day, (share,) in content.items() if float(share) == 1.0] == [
        str(day) for day in DAYS[JUMP + 1 : FALL + 1]
    ]
    assert last == "One dollar became 0.80."
