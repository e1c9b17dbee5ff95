"""The query `universe`: a company's status according to its filings, as of each instant of its life."""

from datetime import date, timedelta

import pytest

from assets.external.sec_edgar.universe_events import DAYS_TO_EFFECT, event_of

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


# Two companies' filings in EDGAR's submissions, around the delisting of notes that had matured.
APPLE = """
    2019-11-15 8-A12B, 2019-11-15 CERT, 2021-10-29 10-K, 2022-01-28 10-Q,
    2022-04-29 10-Q, 2022-07-29 10-Q, 2022-10-28 10-K, 2022-11-09 25-NSE,
    2023-02-03 10-Q, 2023-05-05 10-Q, 2023-08-04 10-Q, 2023-11-03 10-K, 2024-01-17 25-NSE, 2024-02-02 10-Q,
    2024-05-03 10-Q, 2024-08-02 10-Q, 2024-11-01 10-K
"""
MICROSOFT = """
    2019-10-23 10-Q, 2019-11-08 8-A12B, 2019-11-08 25, 2019-11-08 CERT, 2020-01-29 10-Q, 2020-07-30 10-K,
    2021-04-27 10-Q, 2021-07-29 10-K, 2021-09-03 25-NSE, 2021-10-26 10-Q, 2022-01-25 10-Q, 2022-07-28 10-K
"""
STRUCK_OFF = "2021-03-01 10-K, 2022-06-01 8-K:3.01, 2022-09-01 25-NSE, 2022-11-01 10-Q, 2023-03-01 10-K"


def history(table, told_by="submissions"):
    """Yield the events of filings written as "day form"; a colon precedes an item of an 8-K."""
    for number, filing in enumerate(table.split(",")):
        day, form, *items = filing.replace(":", " ").split()
        kind = event_of(form, items)
        if kind:
            days = DAYS_TO_EFFECT.get(form)
            effect = days is not None and {"effective_on": str(date.fromisoformat(day) + timedelta(days=days))}
            yield event(100 + number, day, kind, form, told_by=told_by, **(effect or {}))


@pytest.fixture
def status(world):
    """A function that returns a company's status at noon of a day, or None if it is not in the answer."""

    def ask(day, *events, statuses=ALL, cik=ALPHA):
        result = world(f"{day}T17:00:00Z", universe_events=events).run("universe", statuses=statuses)
        return next((row["status"] for row in result if row["cik"] == cik), None)

    return ask


UNNAMED = STRUCK | {"security_class": None, "common_equity": None}
ONCE_LISTED = event(1, "2019-01-10", "listed", "8-A12B")
BACK = event(90, "2025-01-10", "listed", "8-A12B")
BEFORE = event(90, "2022-01-01", "reported", "10-K", told_by="submissions")
NOTES = event(91, "2024-06-01", "delisted", "25-NSE", effective_on="2024-06-11", told_by="submissions")
REPORTS = [event(92 + n, f"2024-0{7 + n}-01", "reported", "10-Q", told_by="submissions") for n in range(3)]


def of_15d(form):
    return event(9, "2024-06-03", "deregistered", form, effective_on="2024-06-03")


def of_lists(before, after):
    later = [each | {"accession_no": "later"} for each in history("2023-03-01 10-K", after)]
    return [ONCE_LISTED, *history("2021-03-01 10-K, 2022-09-01 25-NSE", before), *later]


STATUS = {
    "its newest filing up to T decides": ([LISTED, REPORTED, STRUCK, DARK], {
        "2024-01-09": None, "2024-01-10": "listed", "2024-04-30": "listed", "2024-05-01": "listed",
        "2024-05-10": "listed", "2024-05-11": "delisted", "2024-06-03": "delisted", "2024-08-31": "delisted",
        "2024-09-01": "deregistered"}),
    "a class of notes that is removed leaves the company listed": (
        [LISTED, STRUCK | {"security_class": "0.875% Notes due 2024", "common_equity": False}],
        {"2024-06-01": "listed"}),
    "a removal whose class no filing names": (
        [LISTED, UNNAMED], {"2024-05-10": "listed", "2024-05-11": "uncertain"}),
    "such a removal until something is certain": ([LISTED, UNNAMED, DARK], {"2024-12-01": "deregistered"}),
    "such a removal until a listing": (
        [LISTED, UNNAMED, event(9, "2024-07-01", "listed", "8-A12B")], {"2024-12-01": "listed"}),
    "a class that moves to another exchange stays listed": (
        [LISTED, event(9, "2024-04-30", "listed", "CERT", exchange="The Nasdaq Stock Market LLC"), STRUCK],
        {"2024-05-11": "listed"}),
    "a form 15 after a report": ([REPORTED, DARK], {"2024-12-01": "deregistered"}),
    "an annual report after a form 15 says that the company still reports": (
        [REPORTED, DARK, event(9, "2024-11-01", "reported", "10-K")], {"2024-12-01": "registered"}),
    **{f"while an exchange lists the company, form {form}": ([LISTED, of_15d(form)], {"2024-06-04": status})
       for form, status in (("15-15D", "listed"), ("15F-15D", "listed"), ("15-12B", "deregistered"))},
    **{f"while no exchange lists the company, form {form}": ([REPORTED, of_15d(form)], {"2024-06-04": "deregistered"})
       for form in ("15-15D", "15F-15D", "15-12B")},
    **{f"form {form} may end another class than the listed one, after {[each['form_type'] for each in events]}": (
        [*events, DARK | {"form_type": form}, *more], days)
        for form in ("15-12G", "15F-12G")
        for events, more, days in (
            ([LISTED], [], {"2024-08-31": "listed", "2024-09-01": "uncertain"}),
            ([LISTED, STRUCK], [], {"2024-09-01": "deregistered"}), ([REPORTED], [], {"2024-09-01": "deregistered"}),
            ([LISTED, event(9, "2025-02-20", "reported", "10-K")], [], {"2025-03-01": "listed"}))},
    "a first registration alone does not list a company": (
        [event(9, "2024-03-01", "offered", "S-1")], {"2024-06-01": "offered"}),
    "Apple reports after a removal and gave no notice of a delisting": (list(history(APPLE)), {
        "2022-11-18": "listed", "2022-11-19": "uncertain", "2023-02-02": "uncertain", "2023-02-03": "listed",
        "2024-01-26": "listed", "2024-01-27": "uncertain", "2024-02-02": "listed", "2025-01-29": "listed"}),
    "Microsoft reports after a removal and gave no notice of a delisting": (list(history(MICROSOFT)), {
        "2019-12-01": "listed", "2021-09-12": "listed", "2021-09-13": "uncertain", "2021-10-25": "uncertain",
        "2021-10-26": "listed", "2026-02-03": "listed"}),
    # The recorded submissions may begin too late for a notice of the year before. Foreign companies file no 8-K.
    **{f"a notice was given or would not be seen: {table}": (
        [ONCE_LISTED, *history(table)],
        {"2022-09-10": "listed", "2022-09-11": "uncertain", last: "uncertain", reported: "registered",
         "2024-06-01": "registered"})
        for table, last, reported in (
            ("2021-03-01 10-K, 2022-06-01 8-K:3.01, 2022-09-01 25-NSE, 2022-11-01 10-Q", "2022-10-31", "2022-11-01"),
            ("2021-03-01 10-K, 2022-09-01 25-NSE, 2022-09-07 8-K:3.01, 2022-11-01 10-Q", "2022-10-31", "2022-11-01"),
            ("2022-03-01 10-K, 2022-09-01 25-NSE, 2022-11-01 10-Q", "2022-10-31", "2022-11-01"),
            ("2020-03-01 20-F, 2022-09-01 25-NSE, 2023-03-01 20-F", "2023-02-28", "2023-03-01"))},
    **{f"an index tells of no notice, so a report in it proves no listing: {' then '.join(lists)}": (
        of_lists(*lists), {"2023-02-28": "uncertain", "2023-03-01": "registered"})
        for lists in (("index", "index"), ("index", "submissions"), ("submissions", "index"))},
    **{f"a notice of another time tells of another removal: {day}": (
        [ONCE_LISTED, *history(f"2020-03-01 10-K, {day} 8-K:3.01, 2022-09-01 25-NSE, 2023-03-01 10-K")],
        {"2023-03-01": "listed"}) for day in ("2021-08-31", "2022-10-05")},
    "a new listing ends what an older removal of common equity did": ([STRUCK, BACK], {"2025-02-20": "listed"}),
    "and a removal after it is another": (
        [STRUCK, BACK, event(91, "2025-06-02", "delisted", "25-NSE", effective_on="2025-06-12")],
        {"2025-06-12": "uncertain"}),
    "no report undoes the removal of common equity": (
        [BEFORE, LISTED, STRUCK, *REPORTS], {"2024-12-01": "delisted"}),
    "nor does a removal of notes after it": ([BEFORE, LISTED, STRUCK, NOTES], {"2024-06-20": "delisted"}),
    "nor do both": ([BEFORE, LISTED, STRUCK, NOTES, *REPORTS], {"2024-12-01": "delisted"}),
    "a form 15 after the reports ends the registration whatever they proved": (
        [*history(APPLE),
         event(300, "2024-12-02", "deregistered", "15-12B", told_by="submissions", effective_on="2025-03-02")],
        {"2025-03-01": "listed", "2025-03-02": "deregistered"}),
    "a notice alone says that a company is registered": (
        list(history("2022-06-01 8-K:3.01")), {"2023-01-01": "registered"}),
}  # fmt: skip


@pytest.mark.parametrize(("events", "days"), STATUS.values(), ids=STATUS)
def test_a_companys_status_follows_from_its_filings_up_to_the_as_of(status, events, days):
    assert {day: status(day, *events) for day in days} == days


def test_a_delistings_announcement_and_effective_date_are_separate_columns(world):
    [row] = world("2024-05-02T00:00:00Z", universe_events=[LISTED, STRUCK]).run("universe")
    assert row["status"] == "listed"
    assert (row["delisting_filed_at"].isoformat(), str(row["delisting_effective_on"])) == (
        "2024-05-01T12:00:00+00:00",
        "2024-05-11",
    )
    assert (row["security_class"], row["rule_provision"]) == ("Common Stock", "17 CFR 240.12d2-2(b)")
    assert row["evidence_ids"] == ["made:0", "made:1"]


def test_delisted_companies_are_left_out_unless_requested(status):
    living = ["listed", "registered", "uncertain"]
    assert status("2024-05-10", LISTED, STRUCK, statuses=living) == "listed"
    assert status("2024-05-11", LISTED, STRUCK, statuses=living) is None
    assert status("2024-05-11", LISTED, STRUCK, statuses=["delisted"]) == "delisted"


def test_a_filing_in_two_lists_counts_from_the_first_publication(world):
    again = LISTED | {"told_by": "submissions", "available_at": "2024-01-09T12:00:00Z", "company_name": None}
    [row] = world("2024-02-01T00:00:00Z", universe_events=[LISTED, again]).run("universe")
    assert row["listed_at"].isoformat() == "2024-01-09T12:00:00+00:00"
    assert (row["company_name"], len(row["evidence_ids"])) == ("Alpha Co", 2)


def test_a_company_has_the_newest_name_public_at_the_as_of(world):
    renamed = event(
        9, "2024-03-01", "renamed", "8-K", told_by="submissions", company_name="Omega Co", former_name="Alpha Co"
    )
    [before] = world("2024-02-01T00:00:00Z", universe_events=[LISTED, renamed]).run("universe")
    [after] = world("2024-04-01T00:00:00Z", universe_events=[LISTED, renamed]).run("universe")
    assert (before["company_name"], before["former_name"]) == ("Alpha Co", None)
    assert (after["company_name"], after["former_name"]) == ("Omega Co", "Alpha Co")
    assert after["status"] == "listed"


def test_later_events_change_no_earlier_answer(world):
    reply = [LISTED, REPORTED, event(1, "2024-01-10", "listed", "8-A12B", cik=BETA)]
    later = [
        STRUCK,
        DARK,
        event(9, "2024-11-01", "reported", "10-K"),
        event(8, "2024-07-01", "listed", "CERT", cik=BETA),
    ]
    short, long = (
        world("2024-04-30T00:00:00Z", universe_events=reply),
        world("2024-04-30T00:00:00Z", universe_events=reply + later),
    )
    assert short.run("universe", statuses=ALL) == long.run("universe", statuses=ALL)


def test_the_universe_can_be_filtered_by_cik(world):
    both = [LISTED, event(1, "2024-01-10", "listed", "8-A12B", cik=BETA)]
    assert [row["cik"] for row in world(universe_events=both).run("universe", ciks=[BETA])] == [BETA]


@pytest.mark.parametrize("table", [MICROSOFT, STRUCK_OFF], ids=["Microsoft", "struck off"])
def test_no_filing_changes_an_answer_as_of_an_earlier_instant(world, table):
    events = list(history(table))
    for day in (each["filing_date"] for each in events):
        moment = f"{day}T17:00:00Z"
        shorter = [each for each in events if each["filing_date"] <= day]
        short, long = (world(moment, universe_events=some) for some in (shorter, events))
        assert short.run("universe", statuses=ALL) == long.run("universe", statuses=ALL)
