"""Tables with values that few tables have: times at the ends of the calendar, finer clocks, names of files and keys."""

import pandas as pd
import pytest

from tests.mounting.test_mount import rows


def mounted(lake, table, **options):
    return lake.mount(table, "estimates", **({"key": ["ticker"], "available_at": "seen"} | options))


@pytest.mark.parametrize(
    ("name", "other"), [("own[1].csv", "own1.csv"), ("own*.jsonl", "owners.jsonl"), ("own?.parquet", "own2.parquet")]
)
def test_a_file_is_no_pattern_of_others(lake, tmp_path, name, other):
    for file, ticker in ((name, "RIGHT"), (other, "WRONG")):
        path, frame = tmp_path / file, pd.DataFrame({"ticker": [ticker], "seen": ["2024-01-01"]})
        if path.suffix == ".csv":
            frame.to_csv(path, index=False)
        elif path.suffix == ".jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            frame.to_parquet(path)
    mounted(lake, tmp_path / name)
    assert rows(lake, None, "ticker") == [("RIGHT",)]
