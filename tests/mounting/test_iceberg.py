"""Iceberg in and out: mounting a table of a catalog, and a lake as of T as a namespace that pyiceberg reads."""

from datetime import datetime, timezone

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.utils.config import Config

from pitlake.answers import export as exporting
from pitlake.answers.export import RECEIPT, export
from pitlake.cli import invoke
from pitlake.errors import BadInput
from pitlake.lake import Lake
from pitlake.lake.mounting.source import find_origin
from pitlake.session import connect
from tests.doors.conftest import build

T = "2024-03-02T15:00:00Z"
SOME = ["news", "xbrl_facts", "prices"]
SCORES = pa.table({
    "ticker": ["QACB", "QBG"],
    "score": [1.5, None],
    "seen": pa.array([datetime(2024, 1, day, 15, tzinfo=timezone.utc) for day in (2, 3)], pa.timestamp("us", "UTC")),
})  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    build(root := tmp_path_factory.mktemp("iceberg") / "lake")
    return Lake(root)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A catalog that pyiceberg's configuration names."""
    (tmp_path / "own").mkdir()
    monkeypatch.setenv("PYICEBERG_CATALOG__OWN__URI", f"sqlite:///{tmp_path}/own/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__OWN__WAREHOUSE", (tmp_path / "own").as_uri())
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # pyiceberg reads it during its import
    catalog = load_catalog("own")
    catalog.create_namespace("desk")
    catalog.create_table("desk.scores", SCORES.schema).append(SCORES)
    yield catalog
    catalog.close()


def as_rows(table):
    return sorted(map(str, table.to_pylist()))


def test_an_iceberg_table_is_mounted_and_its_changes_are_detected(own, tmp_path, capfd):
    lake = Lake(tmp_path / "lake")
    mount = ["mount", "iceberg://own", "--table", "desk.scores", "--name", "scores", "--lake", lake.location]
    assert invoke([*mount, "--available-at", "seen", "--key", "ticker"]) == 0
    with connect(T, lake=lake) as session:
        assert session.sql("SELECT ticker, score FROM scores ORDER BY ticker").rows() == [("QACB", 1.5), ("QBG", None)]
    origin = find_origin("iceberg://own", "desk.scores")
    before = origin.state()
    own.load_table("desk.scores").append(SCORES.slice(0, 1).set_column(1, "score", pa.array([2.5])))
    assert origin.state() != before
    assert invoke(["mount", "iceberg://own", "--table", "desk.none", "--name", "none", "--lake", lake.location]) == 2
    assert "there is no table 'desk.none'; its tables are desk.scores" in capfd.readouterr().err
    assert invoke(["mount", "iceberg://other", "--table", "a.b", "--name", "none", "--lake", lake.location]) == 2
    assert "iceberg://other can't be used" in capfd.readouterr().err


def test_a_lake_as_of_an_instant_is_exported_as_an_iceberg_catalog(lake, tmp_path):
    copy = tmp_path / "copy"
    to = ["--to", str(copy), "--format", "iceberg", *(word for name in SOME for word in ("--dataset", name))]
    assert invoke(["export", "--lake", lake.location, "--as-of", T, *to]) == 0
    catalog = SqlCatalog("copy", uri=f"sqlite:///{copy}/catalog.db", warehouse=copy.as_uri())
    copied = {name: catalog.load_table(("lake", name)).scan().to_arrow() for name in (*SOME, RECEIPT)}
    catalog.close()
    receipt = copied.pop(RECEIPT).to_pylist()
    assert {row["as_of"] for row in receipt} == {"2024-03-02T15:00:00Z"}
    with connect(T, lake=lake, datasets=SOME) as session:
        for name, table in copied.items():
            due = session[name].arrow()
            assert table.column_names == due.column_names
            assert as_rows(table) == as_rows(due)
            assert [row["rows"] for row in receipt if row["table"] == name] == [len(due)]


def test_an_export_to_a_tilde_path_is_written_to_the_home_folder(lake, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with connect(T, lake=lake, datasets=["prices"], isolation="in_process") as session:
        export(session, "~/copy", form="iceberg")
    assert (tmp_path / "copy" / "catalog.db").is_file()
    assert not (tmp_path / "~").exists()


def test_an_iceberg_table_round_trips_as_of_an_instant(own, tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.mount(("iceberg://own", "desk.scores"), "scores", key=["ticker"], available_at="seen")
    for as_of, rows in (("2024-01-02T16:00:00Z", 1), (T, 2)):
        with connect(as_of, lake=lake) as session:
            export(session, f"iceberg://own/at_{rows}", form="iceberg")
        back = own.load_table(f"at_{rows}.scores").scan().to_arrow()
        assert as_rows(back.select(["ticker", "score", "seen"])) == as_rows(SCORES.slice(0, rows))


def test_an_export_creates_a_new_namespace_or_leaves_nothing_behind(lake, own, monkeypatch):
    with connect(T, lake=lake, datasets=["prices"]) as session:
        output = export(session, "iceberg://own/at_t", form="iceberg")
        assert len(own.load_table("at_t.prices").scan().to_arrow()) == output[0].rows > 0
        for target, problem in (
            ("iceberg://own/at_t", "at_t"),
            ("iceberg://own", "names no namespace"),
            ("", "--to: is empty"),
            ("s3://bucket/copy", "can't be created at s3://bucket/copy"),
        ):
            with pytest.raises(BadInput, match=problem):
                export(session, target, form="iceberg")
        with pytest.raises(BadInput, match="add --format iceberg"):
            export(session, "iceberg://own/other")
        monkeypatch.setattr(exporting, "_receipt", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            export(session, "iceberg://own/broken", form="iceberg")
    assert sorted(own.list_namespaces()) == [("at_t",), ("desk",)]


def test_a_folder_with_two_newest_metadata_files_is_refused(own, tmp_path):
    folder = tmp_path / "own" / "desk" / "scores"
    newest = max((folder / "metadata").glob("*.metadata.json"))
    newest.with_name("00001-other.metadata.json").write_bytes(newest.read_bytes())
    with pytest.raises(BadInput, match="has 2 newest metadata files; name the table in its catalog"):
        find_origin(str(folder)).state()
