"""Makes a Dagster asset of a feed: its config is a scope and a mode.

Dating and publishing use the same code as all other runs.
"""

import json
import logging
from datetime import date
from typing import Any

import dagster as dg
from pydantic import Field

from assets.factory import RETRY, AssetEvents, dagster_events, dataset_asset, not_retried
from assets.feeds.feed import Feed, Scope
from assets.feeds.runs import nothing_asked, run_feed
from checks.expectations import expected
from pitlake import clock
from pitlake.errors import BadInput
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from resources.lake import LakeResource


class FeedConfig(dg.Config):
    """The config of a feed's run: the fields of a scope as text, and the source of answers."""

    mode: str = Field(
        default="replay",
        description="replay: use only captures. live: request what is not captured. refresh: request everything again.",
    )
    tickers: list[str] = Field(
        default_factory=list, description="Tickers, such as AAPL; calls also need the exchange, as in NASDAQ:AAPL."
    )
    ciks: list[str] = Field(default_factory=list, description="EDGAR's numbers of companies, such as 0000320193.")
    series: list[str] = Field(default_factory=list, description="Macro series, such as GDP.")
    queries: list[str] = Field(
        default_factory=list, description="Words, questions or addresses, depending on the feed."
    )
    date_from: str = Field(default="", description="First New York day, YYYY-MM-DD.")
    date_to: str = Field(default="", description="Last New York day, YYYY-MM-DD.")
    updated_since: str = Field(default="", description="An instant with offset.")
    max_pages: int = Field(default=10, description="Most pages of one list to request.")
    options: dict[str, str] = Field(
        default_factory=dict, description="Options of one feed, such as quarters: 2024Q1 for call_transcripts."
    )

    @property
    def asks_nothing(self) -> bool:
        """Return whether the config requests nothing, as in a run of all feeds of which only some are configured."""
        return self.scope() == Scope(max_pages=self.max_pages)

    def scope(self) -> Scope:
        """Return the scope. Raises BadInput with the invalid field."""
        return Scope(
            tickers=tuple(self.tickers),
            ciks=tuple(self.ciks),
            series=tuple(self.series),
            queries=tuple(self.queries),
            date_from=_day(self.date_from, "date_from"),
            date_to=_day(self.date_to, "date_to"),
            updated_since=clock.instant(self.updated_since, "updated_since") if self.updated_since else None,
            max_pages=self.max_pages,
            options=dict(self.options),
        )


def _day(text: str, field: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadInput(field, f"{text!r} is not a date", "give a date such as 2024-02-15") from None


def source_of(feed: Feed) -> dg.AssetSpec:
    """Return the provider as an asset, at the start of the lineage."""
    return dg.AssetSpec(
        f"source_{feed.provider.name}",
        description=f"{feed.provider.base_url}, queried over HTTP; every answer is captured before it is parsed.",
        group_name="sources",
        kinds={"http"},
    )


def feed_asset(feed: Feed) -> dg.AssetsDefinition:
    """Return the asset of one feed, named after its dataset. It has no partitions; the config decides its scope."""
    dataset = feed.dataset

    @dataset_asset(
        dataset,
        "http",
        deps=[source_of(feed).key, *feed.after],
        pool=f"source_{feed.provider.name}",
        retry_policy=RETRY,
    )
    def materialise(context: dg.AssetExecutionContext, config: FeedConfig, lake: LakeResource) -> AssetEvents:
        with not_retried():
            lake_now, scope, asks_nothing = lake.open(), config.scope(), config.asks_nothing
        if asks_nothing:
            example = json.dumps(feed.example.as_config("live"))
            note = f"nothing was named in the run's config, so nothing is requested; an example is {example}"
            # A run of all feeds usually has requests for some of them only.
            ops: Any = context.run.run_config.get("ops", {})
            configs = [op.get("config", {}) for op in ops.values()]
            names = [name for name in Scope.__dataclass_fields__ if name != "max_pages"]
            has_requests = any(each.get(name) for each in configs for name in names)
            context.log.log(logging.INFO if has_requests else logging.WARNING, note)
            report = nothing_asked(feed, lake_now, context.run.run_id, (expected,))
            yield from dagster_events(context, dataset, report, {"requested": note})
            return
        with not_retried(), HttpClient(feed.provider, CaptureStore.of(lake_now.location), config.mode) as client:
            report = run_feed(feed, scope, client, lake_now, run_id=context.run.run_id, audits=(expected,))
        yield from dagster_events(context, dataset, report)

    return materialise
