"""The query `universe`: what a company's filings make of it, as of each instant of its life."""

import pytest

ALPHA, BETA = "0009900501", "0009900502"
ALL = ["listed", "registered", "uncertain", "offered", "delisted", "deregistered"]


def event(number, day, kind, form, *, told_by="index", cik=ALPHA, **more):
    return {
        "cik": cik,
        "accession_no": f"0009900501-24-{number:06d}",
        "event": kind,
        "told_by": told_by,
        "form_type": form,
        "filing_date": day,
        "available_at": f"{day}T12:00:00Z",
    } | more


LISTED = event(1, "2024-01-10", "listed", "8-A12B", company_name="Alpha Co", exchange="NEW YORK STOCK EXCHANGE LLC")
REPORTED = event(2, "2024-02-20", "reported", "10-K", company_name="Alpha Co")
STRUCK = event(
    3, "2024-05-01", "delisted", "25-NSE", effective_on="2024-05-11", security_class="Common Stock",
    common_equity=True, rule_provision="17 CFR 240.12d2-2(b)", exchange="NEW YORK STOCK EXCHANGE LLC",
)  # fmt: skip
DARK = event(4, "2024-06-03", "deregistered", "15-12G", effective_on="2024-09-01")


@pytest.fixture
def status(world):
    """The status of a company as of the noon of a day, None where it is not in the answer."""

    def ask(day, *events, statuses=ALL, cik=ALPHA):
        found = world(f"{day}T17:00:00Z", universe_events=events).run("universe", statuses=statuses)
        return next((row["status"] for row in found if row["cik"] == cik), None)

    return ask


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("2024-01-09", None),
        ("2024-01-10", "listed"),
        ("2024-04-30", "listed"),
        ("2024-05-01", "listed"),
        ("2024-05-10", "listed"),
        ("2024-05-11", "delisted"),
        ("2024-06-03", "delisted"),
        ("2024-08-31", "delisted"),
        ("2024-09-01", "deregistered"),
    ],
)
def test_a_company_is_what_its_filings_had_made_of_it_by_then(status, day, expected):
    assert status(day, LISTED, REPORTED, STRUCK, DARK) == expected


def test_the_announcement_and_its_effect_are_two_columns(world):
    [row] = world("2024-05-02T00:00:00Z", universe_events=[LISTED, STRUCK]).run("universe")
    assert row["status"] == "listed"
    assert (row["delisting_filed_at"].isoformat(), str(row["delisting_effective_on"])) == (
        "2024-05-01T12:00:00+00:00",
        "2024-05-11",
    )
    assert (row["security_class"], row["rule_provision"]) == ("Common Stock", "17 CFR 240.12d2-2(b)")
    assert row["evidence_ids"] == ["made:0", "made:1"]


def test_the_dead_are_left_out_unless_they_are_asked_for(status):
    living = ["listed", "registered", "uncertain"]
    assert status("2024-05-10", LISTED, STRUCK, statuses=living) == "listed"
    assert status("2024-05-11", LISTED, STRUCK, statuses=living) is None
    assert status("2024-05-11", LISTED, STRUCK, statuses=["delisted"]) == "delisted"


def test_a_class_of_notes_that_is_removed_leaves_the_company_listed(status):
    notes = STRUCK | {"security_class": "0.875% Notes due 2024", "common_equity": False}
    assert status("2024-06-01", LISTED, notes) == "listed"


def test_a_removal_whose_class_no_filing_names_is_uncertain_until_something_is_certain(status):
    unnamed = STRUCK | {"security_class": None, "common_equity": None}
    assert status("2024-05-10", LISTED, unnamed) == "listed"
    assert status("2024-05-11", LISTED, unnamed) == "uncertain"
    assert status("2024-12-01", LISTED, unnamed, DARK) == "deregistered"
    assert status("2024-12-01", LISTED, unnamed, event(9, "2024-07-01", "listed", "8-A12B")) == "listed"


def test_a_class_that_moves_to_another_exchange_stays_listed(status):
    moved = event(9, "2024-04-30", "listed", "CERT", exchange="The Nasdaq Stock Market LLC")
    assert status("2024-05-11", LISTED, moved, STRUCK) == "listed"


def test_an_annual_report_after_a_form_15_says_that_the_company_still_reports(status):
    assert status("2024-12-01", REPORTED, DARK) == "deregistered"
    assert status("2024-12-01", REPORTED, DARK, event(9, "2024-11-01", "reported", "10-K")) == "registered"


@pytest.mark.parametrize(
    ("form", "expected"), [("15-15D", "listed"), ("15F-15D", "listed"), ("15-12B", "deregistered")]
)
def test_a_form_15_under_15d_alone_ends_nothing_while_an_exchange_lists_the_company(status, form, expected):
    ended = event(9, "2024-06-03", "deregistered", form, effective_on="2024-06-03")
    assert status("2024-06-04", LISTED, ended) == expected
    assert status("2024-06-04", REPORTED, ended) == "deregistered"


@pytest.mark.parametrize("form", ["15-12G", "15F-12G"])
def test_a_form_15_under_12g_may_end_another_class_than_the_listed_one(status, form):
    ended = DARK | {"form_type": form}
    assert status("2024-08-31", LISTED, ended) == "listed"
    assert status("2024-09-01", LISTED, ended) == "uncertain"
    assert status("2024-09-01", LISTED, STRUCK, ended) == "deregistered"
    assert status("2024-09-01", REPORTED, ended) == "deregistered"
    assert status("2025-03-01", LISTED, ended, event(9, "2025-02-20", "reported", "10-K")) == "listed"


def test_a_first_registration_alone_is_no_part_of_the_market(status):
    assert status("2024-06-01", event(9, "2024-03-01", "offered", "S-1")) == "offered"


def test_a_filing_that_two_lists_tell_of_counts_when_the_first_of_them_did(world):
    again = LISTED | {"told_by": "submissions", "available_at": "2024-01-09T12:00:00Z", "company_name": None}
    [row] = world("2024-02-01T00:00:00Z", universe_events=[LISTED, again]).run("universe")
    assert row["listed_at"].isoformat() == "2024-01-09T12:00:00+00:00"
    assert (row["company_name"], len(row["evidence_ids"])) == ("Alpha Co", 2)


def test_a_company_bears_the_newest_name_of_then(world):
    renamed = event(
        9, "2024-03-01", "renamed", "8-K", told_by="submissions", company_name="Omega Co", former_name="Alpha Co"
    )
    [before] = world("2024-02-01T00:00:00Z", universe_events=[LISTED, renamed]).run("universe")
    [after] = world("2024-04-01T00:00:00Z", universe_events=[LISTED, renamed]).run("universe")
    assert (before["company_name"], before["former_name"]) == ("Alpha Co", None)
    assert (after["company_name"], after["former_name"]) == ("Omega Co", "Alpha Co")
    assert after["status"] == "listed"


def test_what_came_after_changes_nothing_before(world):
    told = [LISTED, REPORTED, event(1, "2024-01-10", "listed", "8-A12B", cik=BETA)]
    later = [
        STRUCK,
        DARK,
        event(9, "2024-11-01", "reported", "10-K"),
        event(8, "2024-07-01", "listed", "CERT", cik=BETA),
    ]
    short, long = (
        world("2024-04-30T00:00:00Z", universe_events=told),
        world("2024-04-30T00:00:00Z", universe_events=told + later),
    )
    assert short.run("universe", statuses=ALL) == long.run("universe", statuses=ALL)


def test_one_company_can_be_asked_for(world):
    both = [LISTED, event(1, "2024-01-10", "listed", "8-A12B", cik=BETA)]
    assert [row["cik"] for row in world(universe_events=both).run("universe", ciks=[BETA])] == [BETA]
