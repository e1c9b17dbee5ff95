"""The campaign command: shares in the order of their seeds, counts, failures and exit codes."""

import inspect
from collections import Counter
from pkgutil import resolve_name

import pytest

from tests import campaign
from tests.tally import Tally


def share(seed, folder):
    """Compare ten answers. Seed 3 has a failure, seed 4 breaks off, and nothing is left after seed 5."""
    assert not [*folder.iterdir()]
    assert seed != 4, "broken off"
    return Tally(10 * (seed < 6), 9, Counter(seeds=seed), [f"wrong in {seed}"] if seed == 3 else [])


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(campaign.CAMPAIGNS, "toy", campaign.Campaign(f"{__name__}:share", 20))


@pytest.mark.parametrize(
    ("arguments", "code", "lines"),
    [
        ("", 0, ["20 compared", "0 failures, 18 answered, 1 seeds"]),
        ("--seed 3 --n 1", 1, ["10 compared", "1 failures, 9 answered, 3 seeds", "wrong in 3"]),
        ("--seed 4 --n 1", 1, ["1 compared", "1 failures", "share 4: broken off"]),
        ("--n 1000", 1, ["51 compared", "2 failures, 54 answered"]),
    ],
)
def test_shares_are_compared_until_the_number_is_reached_or_nothing_is_left(capsys, arguments, code, lines):
    assert campaign.main(["toy", "--workers", "1", *arguments.split()]) == code
    display = capsys.readouterr().out
    assert [line for line in lines if line not in display] == []


@pytest.mark.long
@pytest.mark.parametrize("name", campaign.CAMPAIGNS)
def test_each_campaign_has_a_share_for_a_seed_and_a_folder(name):
    _seed, _folder, *others = inspect.signature(resolve_name(campaign.CAMPAIGNS[name].share)).parameters.values()
    assert [each.name for each in others if each.default is inspect.Parameter.empty] == []
