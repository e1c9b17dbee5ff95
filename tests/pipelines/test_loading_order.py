"""Every runner loads a dataset after the datasets that date or name its records, in the order declared by the feeds."""

import random

import dagster as dg

from assets.external import all_feeds
from assets.order import dependencies, in_order
from pipelines.definitions import defs
from pipelines.sync import bulk, edgar, sources
from pitlake.lake.storage.watch_list import WatchList


def needed(name):
    """Return all datasets that a dataset needs, directly or indirectly."""
    return {name for before in dependencies().get(name, ()) for name in (before, *needed(before))}


def assert_ordered(names):
    for place, name in enumerate(names):
        assert not needed(name) & set(names[place:]), name


def test_a_sync_loads_splits_before_figures_per_share_however_its_steps_are_listed(monkeypatch):
    for step in sources.STEPS:
        for variables in step.provider.secrets.values():
            monkeypatch.setenv(variables[0], "a-key")
    watched = WatchList(companies={"0000000001": ("AAA",)}, series=("GDP",), sources=sources.names())
    loaded = [step.dataset for step in sources.steps(watched)]
    assert loaded.index("polygon_splits") < min(map(loaded.index, ("av_earnings", "polygon_dividends")))
    assert_ordered([*edgar.DATASETS, "names", *loaded])
    for seed in range(20):
        monkeypatch.setattr(sources, "STEPS", tuple(random.Random(seed).sample(sources.STEPS, len(sources.STEPS))))
        assert [step.dataset for step in sources.steps(watched)] == loaded


def test_the_loading_order_does_not_depend_on_the_input_order():
    names = list(dependencies())
    for seed in range(50):
        shuffled = random.Random(seed).sample(names, 12)
        assert_ordered(in_order(shuffled))
        assert in_order(shuffled) == in_order(sorted(shuffled))


def test_edgar_datasets_need_no_dataset_that_a_sync_loads_later():
    later = {step.dataset for step in sources.STEPS}
    assert not {name for dataset in {*edgar.DATASETS, *bulk.DATASETS} for name in needed(dataset)} & later


def test_dagster_assets_depend_on_what_their_feeds_declare():
    graph = defs().resolve_asset_graph()
    for name, source in all_feeds().items():
        parents = {key.to_user_string() for key in graph.get(dg.AssetKey(name)).parent_keys}
        assert parents == {f"source_{source.provider.name}", *source.after}
