"""Times Feast's historical join over one Parquet file; bench.panel runs it with a Python that has Feast.

Argument: a folder with facts.parquet (ticker, available_at, value_number) and events.parquet (ticker,
event_timestamp). Prints the seconds of each round on one line. It imports nothing of this project.
"""

import sys
import time
from datetime import timedelta
from pathlib import Path

import pandas as pd
from feast import Entity, FeatureStore, FeatureView, Field, FileSource, RepoConfig
from feast.types import Float64
from feast.value_type import ValueType


def main(folder: Path) -> None:
    """Register one feature view and join it to the events three times."""
    config = RepoConfig(
        project="bench",
        registry=str(folder / "registry.db"),
        provider="local",
        offline_store={"type": "file"},
        online_store=None,
        entity_key_serialization_version=3,
    )
    store = FeatureStore(config=config)
    company = Entity(name="ticker", join_keys=["ticker"], value_type=ValueType.STRING)
    source = FileSource(path=str(folder / "facts.parquet"), timestamp_field="available_at")
    view = FeatureView(
        name="facts",
        entities=[company],
        ttl=timedelta(days=36_500),
        schema=[Field(name="value_number", dtype=Float64)],
        source=source,
        online=False,
    )
    store.apply([company, view])
    events = pd.read_parquet(folder / "events.parquet")
    for _ in range(3):
        started = time.perf_counter()
        joined = store.get_historical_features(events, ["facts:value_number"]).to_df()
        print(time.perf_counter() - started, len(joined), joined["value_number"].count(), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
