"""Makes a Dagster asset of each feed of dropped files: a run receives the files and publishes their rows."""

import os
from pathlib import Path

import dagster as dg
from pydantic import Field

from assets.drops import all_drops
from assets.drops.receiving import DROPS_VARIABLE, publish, receive
from assets.factory import AssetEvents, dagster_events, dataset_asset, not_retried
from assets.feeds.feed import Feed
from checks.expectations import expected
from pitlake.errors import BadInput
from resources.http.capture import CaptureStore
from resources.lake import LakeResource


class DropConfig(dg.Config):
    """The folder of dropped files."""

    folder: str = Field(
        default="", description=f"Folder of the dataset's files; blank: one named as the dataset in ${DROPS_VARIABLE}."
    )

    def path(self, dataset: str) -> Path:
        """Return the folder. Raises BadInput when neither is set."""
        root = os.environ.get(DROPS_VARIABLE, "")
        if not self.folder and not root:
            raise BadInput(DROPS_VARIABLE, "is not set", "set it to the folder with one subfolder per dataset")
        return Path(self.folder) if self.folder else Path(root) / dataset


def drop_assets() -> list[dg.AssetsDefinition]:
    """Return every asset of dropped files."""
    return [drop_asset(feed) for feed in all_drops().values()]


def drop_asset(feed: Feed) -> dg.AssetsDefinition:
    """Return the asset of one dataset of dropped files. The asset has the dataset's name."""
    dataset = feed.dataset

    @dataset_asset(dataset, pool=f"drop_{dataset.name}")
    def materialise(context: dg.AssetExecutionContext, config: DropConfig, lake: LakeResource) -> AssetEvents:
        with not_retried():
            lake_now = lake.open()
            store = CaptureStore.of(lake_now.location)
            received = receive(feed, config.path(dataset.name), store)
        context.log.info("received %d files", len(received))
        reports = list(publish(feed, store, lake_now, run_id=context.run.run_id, audits=(expected,)))
        yield from dagster_events(context, dataset, reports[-1])

    return materialise
