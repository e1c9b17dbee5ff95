"""Feast: historical features from a Parquet file, joined as of T for every entity and item that is known."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pandas as pd
from feast import Entity, FeatureStore, FeatureView, Field, FileSource, RepoConfig
from feast.types import Float64, String
from feast.value_type import ValueType

from asofbench.adapters.base import Rewritten, Rows, Visible, naive


class Feast(Rewritten, Visible):
    """options: on and created (the two timestamp columns), filtered (by created), store (the offline store that
    joins).
    """

    def write(self, rows: Rows) -> None:
        """One feature view over one file; a key is an entity and an item."""
        frame = pd.DataFrame([{k: naive(v) for k, v in row.items()} for row in self.dated(rows)])
        frame["key"] = frame["entity"] + "|" + frame["item"]
        for name in ("event", "available_at", "loaded_at"):
            frame[name] = pd.to_datetime(frame[name]).dt.tz_localize("UTC")
        file = self.folder / "facts.parquet"
        frame.to_parquet(file)
        self.keys = sorted(set(frame["key"]))
        self.features = ["value", "text", *([] if self.careful else ["extra"])]
        config = RepoConfig(
            project="asofbench", registry=str(self.folder / "registry.db"), provider="local", online_store=None,
            offline_store={"type": self.options["store"]}, entity_key_serialization_version=3,
        )  # fmt: skip
        self.store = FeatureStore(config=config)
        key = Entity(name="key", join_keys=["key"], value_type=ValueType.STRING)
        created = self.options.get("created", "loaded_at")
        source = FileSource(path=str(file), timestamp_field=self.options["on"], created_timestamp_column=created)
        types = {"value": Float64, "text": String, "extra": String}
        view = FeatureView(
            name="facts", entities=[key], ttl=timedelta(days=0), source=source, online=False,
            schema=[Field(name=name, dtype=types[name]) for name in self.features],
        )  # fmt: skip
        self.store.apply([key, view])
        self.cached: dict[datetime, Rows] = {}

    def visible(self, at: datetime) -> Rows:
        """The historical features of every key as of T."""
        if at not in self.cached:
            self.cached[at] = self._features(entity_df=self._entities(pd.Timestamp(at)))
        return self.cached[at]

    def visible_without_instant(self, at: datetime) -> Rows:
        """Return the features of a range without an end, as documented for a retrieval without entities."""
        return self._features(start_date=datetime(2020, 1, 1, tzinfo=timezone.utc))

    def visible_at_null(self) -> Rows:
        """Return the features of entities whose timestamp is null."""
        return self._features(entity_df=self._entities(pd.NaT))

    def _entities(self, at: Any) -> pd.DataFrame:
        return pd.DataFrame({"key": self.keys, "event_timestamp": pd.to_datetime([at] * len(self.keys), utc=True)})

    def _features(self, **arguments: Any) -> Rows:
        if self.options.get("filtered"):
            arguments["filter_by_created_timestamp"] = True
        features = [f"facts:{name}" for name in self.features]
        frame = self.store.get_historical_features(features=features, **arguments).to_df()
        rows = []
        for row in frame.to_dict("records"):
            if isinstance(row["text"], str):
                entity, _, item = row["key"].partition("|")
                extra = {"extra": row["extra"]} if isinstance(row.get("extra"), str) else {}
                rows.append({"entity": entity, "item": item, "value": row["value"], "text": row["text"], **extra})
        return rows
