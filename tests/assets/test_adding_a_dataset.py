"""The dataset that docs/adding-a-dataset.md adds works from the graph to an answer."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import neo4j
import pytest

from assets.factory import graph_asset
from pipelines.partitions import DAYS
from pitlake.lake.lake import Lake
from pitlake.session.contracts import Catalogue
from tests.partitions import run_partitions
from tests.sessions import open_at
from tests.toys import OBSERVED, between

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "adding-a-dataset.md").read_text()
PATHS = re.findall(r"\*\*\d\. The \w+\*\*, `([\w/]+)\.py`", PAGE)
CODE = list(zip(PATHS, re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL), strict=True))
RECORDS = (
    neo4j.Record({"programme": "b1", "ticker": "QBG", "amount": "1,000", "announced": "2024-02-14T16:00:00-05:00"}),
    neo4j.Record({"programme": "b2", "ticker": "QBG", "amount": 5.0, "announced": "2024-02-15T09:00:00-05:00"}),
    neo4j.Record({"programme": "b3", "ticker": "QBG", "amount": "much", "announced": "2024-02-14T16:00:00-05:00"}),
    neo4j.Record({"programme": "b4", "ticker": "QBG", "amount": 1.0, "announced": "soon"}),
)


@pytest.fixture
def extractor(monkeypatch):
    """The extractor defined on the page, whose modules are imported under their documented names."""
    for path, code in CODE:
        name = path.replace("/", ".")
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(code, path, "exec"), module.__dict__)
    return sys.modules["assets.graph.buybacks"].EXTRACTOR


def test_the_documented_dataset_works_from_the_graph_to_an_answer(extractor, tmp_path):
    lake = Lake(tmp_path / "lake")
    days = between("2024-02-13", "2024-02-16")

    def stream(cypher, params, *, fetch_size):
        dated = [record for record in RECORDS if record["announced"][0].isdigit()]
        if cypher == extractor.windows[0]:
            yield [record for record in dated if params["lo"] <= record["announced"] < params["hi"]]
        if cypher == extractor.sweeps[0]:
            yield [record for record in RECORDS if record not in dated]

    published = run_partitions(
        extractor, days, SimpleNamespace(stream=stream), lake, run_id="one", observed_at=OBSERVED
    )
    assert (published.total.extracted, published.total.published, published.total.gaps) == (4, 2, 2)
    catalogue = Catalogue({"buybacks": extractor.dataset})
    as_of = "2024-02-14T21:00:00Z"
    with open_at(lake.snapshot(), as_of, catalogue=catalogue) as session:
        assert session.sql("SELECT programme, ticker, amount FROM buybacks").rows() == [("b1", "QBG", 1000.0)]


def test_the_documented_dataset_has_an_asset_with_the_usual_checks(extractor):
    asset = graph_asset(extractor, DAYS)
    assert asset.key.path == ["buybacks"]
    assert {spec.name for spec in asset.check_specs} >= {"gate", "conservation", "expectations"}
