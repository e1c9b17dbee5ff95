"""Settings that decide availability come from the run, or else from the environment. Lags over a day are refused."""

from datetime import timedelta

import pytest

from pitlake.errors import BadInput
from resources.lake import LakeResource
from resources.settings import LAG_VARIABLE, ExtractionSettings


def test_the_default_publication_lag_is_a_day(monkeypatch):
    monkeypatch.delenv(LAG_VARIABLE, raising=False)
    assert ExtractionSettings().publication_lag() == timedelta(hours=24)


def test_the_setting_of_a_run_overrides_the_environment(monkeypatch):
    monkeypatch.setenv(LAG_VARIABLE, "450")
    assert ExtractionSettings().publication_lag() == timedelta(minutes=450)
    assert ExtractionSettings(publication_lag_minutes=180).publication_lag() == timedelta(hours=3)


@pytest.mark.parametrize("text", ["-1", "0", "30", "179", "1441", "half a day", "300.5", "٣٠٠"])
def test_an_invalid_lag_is_refused_and_the_error_names_its_variable(monkeypatch, text):
    monkeypatch.setenv(LAG_VARIABLE, text)
    with pytest.raises(BadInput, match=LAG_VARIABLE):
        ExtractionSettings().publication_lag()


def test_the_lake_is_where_the_setting_or_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("PITLAKE_LAKE", str(tmp_path / "other"))
    assert LakeResource().open().root == tmp_path / "other"
    assert LakeResource(root=str(tmp_path / "one")).open().root == tmp_path / "one"
