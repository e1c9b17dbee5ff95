"""When an item was published: the later of two readings, or nothing if the time can't be read."""

import random
from datetime import date, datetime, timezone
from zoneinfo import ZoneInfo

import pytest

from pitlake.clock import instant, iso
from pitlake.proxy.spellings import instants_of
from pitlake.proxy.times import Undated, names_later_day, published, stray_instants
from tests.proxy.spellings import NO_TIMES, later_and_earlier, true_values
from tests.proxy.worlds import AS_OF

CUT_OFF = instant(AS_OF)
NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("spelled", "form", "zone", "instant"),
    [
        ("2024-02-15", "iso", None, "2024-02-16T05:00:00Z"),
        ("20240215", "iso", None, "2024-02-16T05:00:00Z"),
        ("2024-02-15", "iso", ZoneInfo("Asia/Tokyo"), "2024-02-15T15:00:00Z"),
        ("2024-02-15T10:00:00Z", "iso", None, "2024-02-15T10:00:00Z"),
        ("2024-02-15 10:00:00+01:00", "iso", None, "2024-02-15T09:00:00Z"),
        ("2024-02-15T10:00:00", "iso", NEW_YORK, "2024-02-15T15:00:00Z"),
        ("20240215T103000", "iso", NEW_YORK, "2024-02-15T15:30:00Z"),
        ("2024-02-15T10:00:00.1234561Z", "iso", None, "2024-02-15T10:00:00.123457Z"),
        ("2024-02-15T00:00:00", "iso", None, "2024-02-16T05:00:00Z"),
        ("2024-02-15T00:00:00Z", "iso", None, "2024-02-16T05:00:00Z"),  # the later end of the day
        ("2024-02-15T00:00:00-05:00", "iso", None, "2024-02-16T05:00:00Z"),
        ("2024-02-15T05:00:00.000Z", "iso", None, "2024-02-16T05:00:00Z"),  # a New York day, written by pandas' to_json
        (1707973200000, "epoch_ms", NEW_YORK, "2024-02-16T05:00:00Z"),
        ("2024-02-14T15:00:00Z", "iso", ZoneInfo("Asia/Tokyo"), "2024-02-15T15:00:00Z"),
        ("2024-02-15T05:15:00Z", "iso", None, "2024-02-15T05:15:00Z"),
        ("2024-11-03T01:30:00", "iso", NEW_YORK, "2024-11-03T06:30:00Z"),
        ("2024-03-10T02:30:00", "iso", NEW_YORK, "2024-03-10T07:30:00Z"),
        ("Thu, 15 Feb 2024 10:00:00 GMT", "rfc2822", None, "2024-02-15T10:00:00Z"),
        (1708000000, "epoch", None, "2024-02-15T12:26:40Z"),
        (1708000000.25, "epoch", None, "2024-02-15T12:26:40.250000Z"),
        ("1708000000", "epoch", None, "2024-02-15T12:26:40Z"),
        (1708000000123, "epoch_ms", None, "2024-02-15T12:26:40.123000Z"),
        ("15.02.2024", "%d.%m.%Y", None, "2024-02-16T05:00:00Z"),
        ("15.02.2024 10:00", "%d.%m.%Y %H:%M", NEW_YORK, "2024-02-15T15:00:00Z"),
    ],
)
def test_a_time_is_read_as_the_later_instant(spelled, form, zone, instant):
    assert iso(published(spelled, form, zone)) == instant


@pytest.mark.parametrize(
    ("spelled", "form"),
    [
        ("2024-02-15T10:00:00", "iso"),  # no zone
        ("2024-02-30", "iso"),
        ("2024-02-15T25:00:00Z", "iso"),
        ("2024", "iso"),
        ("9999-12-31", "iso"),
        ("1970-01-01", "iso"),
        ("0001-01-01T00:00:00Z", "iso"),
        ("yesterday", "iso"),
        ("2 hours ago", "iso"),
        (None, "iso"),
        (True, "epoch"),
        (0, "epoch"),
        (1708000000123, "epoch"),  # milliseconds
        (1708000000, "epoch_ms"),  # seconds would be read as a time in 1970
        (float("nan"), "epoch"),
        (["2024-02-15"], "iso"),
        ("15 Feb", "%d %b"),
        ("not a date", "rfc2822"),
    ],
)
def test_an_unreadable_time_is_undated(spelled, form):
    with pytest.raises(Undated):
        published(spelled, form, None)


def test_300_spellings_of_a_later_time_are_read_and_300_other_texts_are_not():
    later, _ = later_and_earlier(random.Random(1))
    values = true_values(later)
    assert len(values) >= 300
    overlooked = [
        (name, value) for name, value in values if max(stray_instants({name: value}, None), default=CUT_OFF) <= CUT_OFF
    ]
    assert overlooked == []
    assert len(set(NO_TIMES)) >= 300
    assert [text for text in NO_TIMES if stray_instants({"note": text}, None)] == []
    assert [text for text in NO_TIMES if names_later_day(text, date(1990, 1, 1))] == []


@pytest.mark.parametrize(
    "value",
    [
        "yesterday", "2 hours ago", "today 10:00", "yesterday at 3 pm", "last week", "3小时前", "1 day ago", "now",
        "garbled", "TBD", "Spring 2024", True, "32.13.2024", ["x"],
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "name", ["updated", "lastModified", "date_edited", "Modified On", "修改时间", "listed_at", "sent_on"]
)
def test_a_member_named_like_a_time_must_have_a_readable_time(name, value):
    if value is True and name not in ("updated", "lastModified", "date_edited"):
        return
    with pytest.raises(Undated):
        stray_instants({"deep": [{name: value}]}, None)


@pytest.mark.parametrize(
    ("value", "latest"),
    [
        (202403, "2024-04-01T04:00:00Z"), ("202403", "2024-04-01T04:00:00Z"), (240316, "2024-03-17T04:00:00Z"),
        ("160324", "2024-03-17T04:00:00Z"), ("031624", "2024-03-17T04:00:00Z"), (2024076, "2024-03-17T04:00:00Z"),
        (202445, "2024-11-11T05:00:00Z"), (2025, "2026-01-01T05:00:00Z"), (2025.12, "2026-01-01T05:00:00Z"),
        (28467840, "2024-02-16T08:01:00Z"), ("28467840", "2024-02-16T08:01:00Z"), (474464, "2024-02-16T09:00:00Z"),
        (19991231, "2000-01-01T05:00:00Z"), (20240300, "2024-04-01T04:00:00Z"),
        ("2024-02-16 08:00 EST5EDT", "2024-02-16T13:00:00Z"),
    ],
)  # fmt: skip
def test_digits_under_a_time_name_are_read_as_the_latest_possible_time(value, latest):
    assert iso(max(stray_instants({"updated": value}, None))) == latest


@pytest.mark.parametrize(
    ("value", "latest"),
    [
        (202403, "2024-04-01T04:00:00Z"), ("202403", "2024-04-01T04:00:00Z"), (2024076, "2024-03-17T04:00:00Z"),
        (28467840, "2024-02-16T08:01:00Z"), ("2024-03", "2024-04-01T04:00:00Z"),
    ],
)  # fmt: skip
def test_months_and_minutes_under_an_ambiguous_name_are_read_as_times(value, latest):
    for name in ("t", "d", "at", "u"):
        assert iso(max(stray_instants({name: value}, None))) == latest
        assert stray_instants({name: 16.5}, None) == stray_instants({name: 45_678}, None) == []


@pytest.mark.parametrize(
    ("value", "latest"),
    [
        ("Q4 2022", "2023-01-01T05:00:00Z"), ("2022-Q2", "2022-07-01T04:00:00Z"), ("FY2020 Q2", "2020-07-01T04:00:00Z"),
        ("2022-S1", "2022-07-01T04:00:00Z"), ("H2 2022", "2023-01-01T05:00:00Z"), ("2023M11", "2023-12-01T05:00:00Z"),
        ("FY2023", "2024-01-01T05:00:00Z"),
    ],
)  # fmt: skip
def test_a_period_under_a_name_of_time_counts_at_its_end(value, latest):
    assert list(map(iso, stray_instants({"date": value, "ttl": {"seconds": "3600"}}, None))) == [latest]


@pytest.mark.parametrize("value", [7_654_321, "7654321", 67_890, 99_999_999, "1708070400 seconds", "1708070400000ms"])
def test_an_impossible_number_under_a_time_name_is_undated(value):
    with pytest.raises(Undated):
        stray_instants({"updated": value}, None)


@pytest.mark.parametrize("value", [93_015, "163015", 160_000, 9999, 3, -1, -62_135_596_800, 99_991_231, "15 ms", 0.25])
def test_durations_times_of_day_and_placeholders_in_digits_state_no_time(value):
    assert stray_instants({"time": value}, None) == []


@pytest.mark.parametrize(
    "name",
    [
        "fecha_publicacion", "data_pubblicazione", "dataAtualizacao", "Veröffentlichungsdatum", "publicatiedatum",
        "ultima_actualización", "mise_à_jour", "geändert_am", "as_of", "updated_parsed",
    ],
)  # fmt: skip
def test_names_of_times_in_other_languages_are_times(name):
    assert list(map(iso, stray_instants({name: 1_708_070_400}, None))) == ["2024-02-16T08:00:00Z"]
    for value in ("vor 2 Stunden", "hace 2 horas", "il y a 2 heures", "2 ore fa", "há 2 horas", "2 uur geleden"):
        with pytest.raises(Undated):
            stray_instants({name: value}, None)


@pytest.mark.parametrize(
    "name",
    [
        "epoch", "unix", "utc", "when", "since", "DTSTAMP", "ingested", "closed", "end_ms", "valid_from", "lastLogin",
        "latest_reply", "commit_epoch", "sent_utc",
    ],
)  # fmt: skip
def test_an_epoch_number_under_a_clock_name_is_a_time(name):
    assert list(map(iso, stray_instants({name: 1_708_070_400}, None))) == ["2024-02-16T08:00:00Z"]


@pytest.mark.parametrize("item", [{"edited": True}, {"updated": {"when": "2 hours ago"}}])
def test_a_change_without_its_time_is_undated(item):
    with pytest.raises(Undated):
        stray_instants(item, None)


@pytest.mark.parametrize("value", [[[1708070400, 1], [1708156800, 2]], [["1708156800000", 1]], [[1708070400000000]]])
def test_rows_that_begin_with_epoch_numbers_state_times(value):
    assert len(stray_instants({"prices": value}, None)) == len(value)


@pytest.mark.parametrize(
    "value",
    [
        [[1708070400, 1]], [[1708156800, 1], [1708070400, 2], [1708243200, 3]], [[1708070400, 1], [1708070400, 2]],
        [[1708070400, 1], [5, 2]], [[1708070400, 1], 1708156800],
    ],
)  # fmt: skip
def test_rows_that_may_begin_with_amounts_state_no_time(value):
    assert stray_instants({"volumes": value}, None) == stray_instants({"index": [1708070400]}, None) == []


@pytest.mark.parametrize(
    ("zone", "hour"),
    [("ET", 13), ("Eastern", 13), ("CT", 14), ("Central", 14), ("MT", 15), ("Mountain", 15), ("PT", 16)],
)
def test_american_time_zones_may_be_written_by_name(zone, hour):
    for value in (f"2024-02-16 08:00 {zone}", f"Feb 16, 2024 8:00 AM {zone}"):
        assert list(map(iso, stray_instants({"note": value}, None))) == [f"2024-02-16T{hour}:00:00Z"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("updated", None), ("updated", ""), ("updated", "n/a"), ("updated", "0001-01-01T00:00:00Z"), ("edited", False),
        ("reading_time", "5 min"), ("time", "16:30 ET"), ("time", "bmo"), ("timezone", "America/New_York"),
        ("date_format", "iso"), ("published_by", "somebody"), ("sentiment", "good"),
        ("dataInsights", "x"), ("data_publisher", "P"), ("ultimate_parent", "P"), ("candidate", "somebody"),
        ("publisher", "P"), ("mandate", "x"), ("update_id", "x7"), ("time_in_force", "day"), ("full_time", "yes"),
        ("lastUpdateSummary", "prose"), ("response_time", 0.25), ("duration", "PT5M"), ("t", "text"), ("times", 3),
        ("published", True), ("update", "The company lifts its guidance"), ("elapsed_time", 45_678),
        ("totalTime", 14_400_000), ("lead_time_seconds", 864_000), ("volume_per_day", 30_678_901), ("last_day", 56_789),
        ("averageVolume10Day", 30_678_901), ("time", "iso8601"), ("time", "Before Market"), ("time", "Semi-Annual"),
        ("valid_to_date", "infinity"), ("updated", "never"), ("time", "7-10 business days"), ("time", "1 minute read"),
        ("reportedRevenue", 1_750_000_000), ("bytes_sent", "1750000000"), ("shares_issued", 1_750_000_000),
        ("received", 12_345), ("paid", 1999.5), ("sold", "202403"), ("reported", "2024"), ("shipped", 28_467_840),
        ("speed", 1_750_000_000), ("used", 1_750_000_000), ("uptime", 1_750_000_000), ("candidate", "2024-05"),
        ("issued", {"shares": 1_750_000_000, "par": 1}), ("quote", [1_750_000_000, "USD"]), ("note", "1402"),
        ("caps", [[5, 1_708_070_400]]), ("n", 2567), ("film_num", "25850707"), ("last", 1_750_000_000),
        ("time", "< 1 min"), ("date", "TTM"), ("time", "9:30 - 16:00"), ("time", "09:30–16:00 ET"),
    ],
)  # fmt: skip
def test_durations_zones_and_other_names_state_no_time(name, value):
    assert stray_instants({name: value}, None) == []


@pytest.mark.parametrize("digits", ["1723072500000", "1723072500000000", "1723072500000000000"])
@pytest.mark.parametrize("spelled", [str, lambda digits: {"$date": {"$numberLong": digits}}])
def test_an_epoch_number_whose_digits_look_like_a_day_of_1723_is_read_as_epoch(digits, spelled):
    assert list(map(iso, stray_instants({"updated": spelled(digits)}, None))) == ["2024-08-07T23:15:00Z"]


@pytest.mark.parametrize(
    "value",
    [
        {"low": None, "high": "x", "unsigned": 1}, {"seconds": float("inf")}, float("nan"), 10**400, [[]],
        "[(1, 2), {3}, b'4', 1j]", "9999-Q4",
        {"year": [], "month": {}}, {"columns": [1, None], "data": [[1], 2]}, {"columns": "x", "rows": 3},
        '{"a": 1e999}', "[NaN]", "[" * 5000 + "]" * 5000, "{" * 99 + "}", "a,b\nc,d\ne,f", [2024, 99],
        {"name": "The New York Times", "value": "a newspaper"},
    ],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_values_that_only_look_like_a_time_state_no_time(value):
    assert stray_instants({"x": value, "t": value}, None) == []


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2567-02-29", "2024-03-01"), ("1402-11-27", "2024-02-17"), ("۱۴۰۲/۱۱/۲۷", "2024-02-17"),
        (14_021_127, "2024-02-17"), ("1399/12/30", "2021-03-21"), ("27 بهمن ۱۴۰۲", "2024-02-17"),
        ("1402-02-31", "2023-05-22"), ("1445-08-06", "2024-02-18"), ("27/06/1445 هـ", "2024-01-11"),
    ],
)  # fmt: skip
def test_days_of_other_calendars_are_read_and_an_islamic_one_as_the_day_after_it(value, day):
    assert [f"{moment:%Y-%m-%d}" for moment in stray_instants({"updated": value}, None)] == [day]


def test_a_week_ends_on_its_sunday():
    assert list(map(iso, stray_instants({"week": "2024-W07"}, None))) == ["2024-02-19T05:00:00Z"]


def test_east_asian_afternoons_and_eras_are_read():
    values = ["令和6年2月15日 午後3時30分", "2024年2月15日 下午3:30", "2024년 2월 15일 오후 3시 30분"]
    for value in values:
        assert list(map(iso, stray_instants({"x": value}, NEW_YORK))) == ["2024-02-15T20:30:00Z"]


def test_prose_in_other_members_states_no_time():
    call = "The company will hold its call on 22 February 2024 at 17:00 ET."
    invitation = "Date:   Thursday, February 22, 2024\nTime:   5:00 p.m. ET\nUpdated guidance for March 5, 2024"
    assert stray_instants({"body": call, "note": "It was updated on March 5, 2024.", "text": invitation}, None) == []
    lines = """Record date: March 15, 2024\nDate: March 7, 2024\nBy March 15, 2024 holders must act
        Effective March 5, 2024\nPosted a loss in 2024\nNEW YORK, March 1 (Reuters) - It reports on March 7, 2024.
        The firm (NYSE: NW) holds its call on March 7, 2024 (Thursday).\n<b>Record date:</b> March 15, 2024</li>
        https://e.org/?ts=1718202441&x=1\nUpdated guidance for March 5, 2024\nCreated jobs: 2024""".splitlines()
    assert [line for line in lines if stray_instants({"text": f"{line}\nx"}, None)] == []


def test_a_time_of_the_same_day_is_read_to_the_minute():
    values = ["2024-02-15 15:30 EST", "Feb 15, 2024 3:30 PM ET", "15/Feb/2024:20:30:00 +0000", "2024年2月15日15時30分"]
    for value in values:
        assert list(map(iso, stray_instants({"updated": value}, NEW_YORK))) == ["2024-02-15T20:30:00Z"]


@pytest.mark.parametrize("value", ["2024-02-15 05:00 UTC", "Feb 15, 2024 5:00 AM GMT", "20240215050000Z", 1707973200])
def test_a_new_york_midnight_counts_as_a_day_in_any_spelling(value):
    assert list(map(iso, stray_instants({"updated": value}, None))) == ["2024-02-16T05:00:00Z"]


def test_a_stated_format_decides_between_day_and_month():
    item = {"updated": "05/02/2024"}
    assert iso(stray_instants(item, None)[0]) == "2024-05-03T04:00:00Z"
    assert iso(stray_instants(item, None, form="%d/%m/%Y")[0]) == "2024-02-06T05:00:00Z"


@pytest.mark.parametrize("text", ["in 2025", "Q2 2024", "FY25", "2Q24", "second quarter of 2024", "FY 2025", "Q1'25"])
def test_with_periods_later_years_and_quarters_are_reported(text):
    day = date(2024, 2, 15)
    assert names_later_day(text, day, periods=True)
    assert not names_later_day(text, day)


@pytest.mark.parametrize("text", ["in 2024", "Q1 2024", "FY24", "4Q23", "$2,025", "2030.5", "first quarter of 2024"])
def test_with_periods_earlier_years_and_quarters_are_not_reported(text):
    assert not names_later_day(text, date(2024, 2, 15), periods=True)


def test_an_item_states_times_at_any_depth_and_under_any_name():
    item = {
        "published": "2024-02-01",
        "thread": [{"x": {"said": "2024-02-03T10:00:00Z"}}],
        "modified_at": 1707134400,
        "volume": 1707134400,
        "note": "see 2024-02-20",
        "maturity": "2030-01-01",
        "Mon, 05 Feb 2024 10:00:00 GMT": 1,
    }
    instants = sorted(map(iso, stray_instants(item, None, frozenset({"maturity"}))))
    assert instants == ["2024-02-02T05:00:00Z", "2024-02-03T10:00:00Z", "2024-02-05T10:00:00Z", "2024-02-05T12:00:00Z"]


@pytest.mark.parametrize(
    "text",
    [
        "updated 2024-03-05", "Updated March 5, 2024", "5th of March 2024", "5-Mar-2024", "03/05/2024", "31/12/2024",
        "in April 2024", "https://e.org/2024/03/05/x", "img_20240305.png", "2024年3月5日", "２０２４-０３-０５",
        "Feb. 16, 2024", "2/16/24", "16.02.24", "16-Feb-24", "16 février 2024", "16. Februar 2024", "16FEB2024",
        "March 10–15, 2024", "2024:03:15 12:02", "20240315120203", "2024−03−15", "2024年3月15日(金)",
        "15&nbsp;March&nbsp;2024", "2024\\/03\\/15", "2024년 3월 15일", "令和6年3月15日", "2024-W11",
        "15. března 2024", "15 марта 2024 г.",
        "Fri Feb 16 08:00:00 EST 2024", "2024-W08-1", "2024-047", "Feb 16 '24", "١٦/٠٢/٢٠٢٤", "2024\u200b-02-16",
    ],
)  # fmt: skip
def test_a_text_that_names_a_later_day_is_reported(text):
    assert names_later_day(text, date(2024, 2, 15))
    prose = "Northwind raised its outlook by 5 percent in May as planned. " * 9
    assert names_later_day(f"{prose}{text} {prose}2026", date(2024, 2, 15))
    assert not names_later_day(f"{prose}2024 {prose}2026 {prose}", date(2024, 2, 15))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "calm",
        "15 February 2024",
        "2024-02-15",
        "marketing 2025",
        "revenue of 2025",
        "99/99/2024",
        "order 20249999",
        "24/7",
        "version 3.1.25a",
        "will march 20 km",
        "1.2.24.5",
        "555-12-24",
    ],
)  # fmt: skip
def test_a_text_that_names_no_later_day_passes(text):
    assert not names_later_day(text, datetime(2024, 2, 15, tzinfo=timezone.utc).date())


@pytest.mark.parametrize("zone", [None, timezone.utc, ZoneInfo("Asia/Tokyo")], ids=str)
@pytest.mark.parametrize("ahead", ["GMT", "UTC", "-0500", "+0530", "+1400", "-1500"])
def test_an_rfc2822_time_with_extra_spaces_reads_the_same(ahead, zone):
    for clock in ("00:00:00", "05:00:00", "15:00:00", "15:30:01", "24:00:00"):
        usual = f"Wed, 14 Feb 2024 {clock} {ahead}"
        assert instants_of(usual, zone) == instants_of(usual.replace("Feb ", "Feb  "), zone)
