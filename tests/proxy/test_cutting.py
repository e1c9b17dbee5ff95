"""Cutting an answer: items dated up to T pass, undated items become gaps, and later items leave no trace."""

import json

import pytest

from pitlake.clock import instant
from pitlake.errors import BadInput
from pitlake.gate.rules import check_answer
from pitlake.proxy.cutting import Sightings, cut_answer, receipt
from pitlake.proxy.policy import from_members, load, parse, ready
from tests.proxy.worlds import AS_OF

NOW = instant("2026-11-26T08:00:00Z")
T = instant(AS_OF)
MEMBERS = {
    "items": "results[]",
    "published": ["published", "updated"],
    "fields": ["title", "url"],
    "key": "url",
    "timezone": "UTC",
}
OLD = {"title": "old", "url": "u1", "published": "2024-02-14T10:00:00Z"}
LATER = {"title": "later", "url": "u2", "published": "2024-02-15T21:00:01Z"}


def cut(items, sightings=None, observed_at=NOW, **members):
    answer = {"structuredContent": {"results": items}, "content": [{"type": "text", "text": "a copy"}]}
    policy = from_members(MEMBERS | members)
    return cut_answer(answer, policy, T, name="web/search", sightings=sightings, observed_at=observed_at)


def test_an_item_up_to_the_cut_off_is_a_row_with_provenance():
    row = cut([OLD]).envelope(T)["data"][0]
    assert row.pop("evidence").startswith("web/search#sha256=")
    assert row == {
        "available_at": "2024-02-14T10:00:00Z",
        "available_at_source": "provider_metadata",
        "available_at_basis": "source_date",
        "title": "old",
        "url": "u1",
    }
    assert cut([OLD]).envelope(T)["gaps"] == []


def test_later_items_do_not_change_an_answer():
    assert cut([LATER, OLD, LATER | {"url": "u3"}]).envelope(T) == cut([OLD]).envelope(T)
    assert cut([LATER]).envelope(T) == cut([]).envelope(T)
    assert cut([]).envelope(T)["gaps"][0]["type"] == "no_data"


def test_an_answer_without_a_row_has_one_gap_whatever_the_reason():
    edited = OLD | {"title": "Updated March 5, 2024"}
    answers = [cut(items) for items in ([], [LATER], [OLD | {"published": "?"}], [edited], [7])]
    unusable = (
        {"isError": True, "content": [{"type": "text", "text": "there is no such item"}]},
        {"structuredContent": {"success": False, "error": "there is no such item"}},
        {"content": [{"type": "text", "text": "No item was found."}]},
        {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]},
        {"content": []},
    )
    answers += [cut_answer(raw, from_members(MEMBERS), T, name="n") for raw in unusable]
    assert {json.dumps(answer.envelope(T)) for answer in answers} == {json.dumps(cut([]).envelope(T))}


def test_undated_items_are_one_gap_however_many():
    undated = {"title": "?", "url": "u9"}
    few, many = cut([OLD, undated]), cut([undated, OLD, undated | {"url": "u8"}])
    assert few.envelope(T) == many.envelope(T)
    assert [gap["type"] for gap in few.envelope(T)["gaps"]] == ["unverifiable"]
    assert (few.counts["undated"], many.counts["undated"]) == (1, 2)  # only the tape has the count


@pytest.mark.parametrize(
    "change",
    [
        {"updated": "2024-02-16T10:00:00Z"},
        {"updated": "2024-02-15"},
        {"comments": [{"posted": "2024-05-01"}]},
        {"last_modified": 1709000000},
    ],
)
def test_the_later_of_two_dates_counts(change):
    assert cut([OLD | change]).envelope(T)["data"] == []


def test_a_declared_business_date_is_not_taken_as_publication():
    bond = OLD | {"maturity": "2030-01-01"}
    assert cut([bond]).envelope(T)["data"] == []
    assert len(cut([bond], business_dates=["maturity"]).envelope(T)["data"]) == 1


def test_a_text_that_names_a_later_day_is_withheld_unless_texts_are_as_published():
    edited = OLD | {"title": "Updated March 5, 2024: profits fell"}
    assert cut([edited]).envelope(T)["data"] == []
    assert len(cut([edited], texts="as_published").envelope(T)["data"]) == 1


@pytest.mark.parametrize(
    ("spelled", "members"),
    [
        ("2024-02-16T01:30:00+09:00", {}),  # a local time on the day after T's, but before T
        ("Fri, 16 Feb 2024 01:30:00 +0900", {}),
        ("11/02/2024", {"format": "%d/%m/%Y"}),  # read as November if day and month were swapped
    ],
)
def test_a_time_before_the_cut_off_passes_even_if_its_local_day_is_later(spelled, members):
    item = {"title": "old", "url": "u1", "published": spelled if members else OLD["published"], "local": spelled}
    fields = ["title", "local", "published"]
    assert len(cut([item], fields=fields, **members).envelope(T)["data"]) == 1
    assert cut([item | {"local": f"until {spelled} or so"}], fields=fields, **members).envelope(T)["data"] == []


def test_a_bar_whose_day_was_converted_to_utc_counts_at_the_end_of_its_day():
    bar = {"published": "2024-02-15T05:00:00.000Z", "title": "the close of 15 February", "url": "u1"}
    assert cut([bar]).envelope(T)["data"] == []
    assert cut([bar], timezone="America/New_York").envelope(T)["data"] == []
    assert len(cut([bar | {"published": "2024-02-14T05:00:00.000Z"}]).envelope(T)["data"]) == 1


def test_changed_content_of_a_seen_item_dates_from_the_later_call():
    seen = Sightings()
    first, later = instant("2024-02-15T10:00:00Z"), instant("2024-02-15T11:00:00Z")
    assert len(cut([OLD], seen, first).envelope(T)["data"]) == 1
    row = cut([OLD | {"title": "new"}], seen, later).envelope(T)["data"][0]
    assert (row["available_at"], row["available_at_basis"]) == ("2024-02-15T11:00:00Z", "observed")
    assert cut([OLD | {"title": "newer"}], seen, NOW).envelope(T)["data"] == []
    assert cut([OLD], seen, NOW).envelope(T)["data"][0]["available_at"] == "2024-02-14T10:00:00Z"


def test_a_date_added_later_dates_from_the_later_call():
    seen = Sightings()
    assert cut([{"title": "old", "url": "u1"}], seen).envelope(T)["data"] == []
    assert cut([OLD], seen).envelope(T)["data"] == []


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "x://y", "text": "future"}},
        {"type": "resource_link", "uri": "x://future", "name": "future"},
    ],
)
def test_content_that_is_not_text_is_a_gap(block):
    answer = {"structuredContent": {"results": [OLD]}, "content": [block]}
    payload = cut_answer(answer, from_members(MEMBERS), T, name="n").envelope(T)
    assert len(payload["data"]) == 1
    assert payload["gaps"][0]["type"] == "unverifiable"
    assert "future" not in json.dumps(payload)


@pytest.mark.parametrize(
    "text",
    ["prose", '{"results": [}', '{"results": [{"published": "2024-05-01", "published": "2024-02-01"}]}', "[" * 5000],
)
def test_a_text_that_is_not_strict_json_is_a_gap(text):
    answer = {"content": [{"type": "text", "text": text}]}
    payload = cut_answer(answer, from_members(MEMBERS), T, name="n").envelope(T)
    assert (payload["data"], payload["gaps"][0]["type"]) == ([], "no_data")


def test_an_item_with_a_forward_return_is_left_out():
    row = OLD | {"daily_stock": 1.5}
    assert cut([row], fields=["title", "daily_stock"]).envelope(T)["data"] == []


def test_keys_on_the_path_to_an_item_become_its_members():
    answer = {"structuredContent": {"bars": {"AAPL": [{"t": "2024-02-14", "c": 1}]}}}
    policy = from_members({"items": "bars.{symbol}[]", "published": "t", "fields": ["symbol", "c"]})
    row = cut_answer(answer, policy, T, name="n").envelope(T)["data"][0]
    assert (row["symbol"], row["c"], row["available_at"]) == ("AAPL", 1, "2024-02-15T05:00:00Z")


def test_an_answer_passes_the_hook_of_the_data_agents():
    payload = cut([OLD, LATER]).envelope(T)
    answer = {**payload, "truncated": False, "next_cursor": None, "receipt": receipt(payload, T)}
    assert check_answer(answer, AS_OF) is None


def test_arguments_that_bound_time_are_filled_in():
    policy = from_members(
        MEMBERS
        | {"bind": {"a": "{date}", "b": "{instant}", "c": "{epoch}", "d": "1990-01-01to{date}"}, "fixed": {"e": 1}}
    )
    assert policy.bound(instant("2024-02-16T01:00:00.5Z")) == {
        "a": "2024-02-16",
        "b": "2024-02-16T01:00:00Z",
        "c": 1708045200,
        "d": "1990-01-01to2024-02-16",
        "e": 1,
    }


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"fields": []}, "fields is empty"),
        ({"published": []}, "published is empty"),
        ({"fields": ["available_at"]}, "writes itself"),
        ({"feilds": ["title"]}, "did you mean fields"),
        ({"items": "results["}, "is not a path"),
        ({"timezone": "Mars/Olympus"}, "is not a time zone"),
        ({"timezone": "../../etc/passwd"}, "is not a time zone"),
        ({"lag": "a while"}, "duration"),
        ({"format": "roman"}, "format"),
        ({"bind": {"end": "today"}}, "write {date}"),
        ({"bind": {"end": "{now}"}}, "write {date}"),
        ({"arguments": ["end"], "bind": {"end": "{date}"}}, "twice"),
        ({"required": ["q"]}, "required"),
        ({"pages": {"next": "x"}}, "pages"),
        ({"texts": "loose"}, "texts"),
        ({"published": 7}, "published: is 7; it should be a list"),
        ({"fields": {"title"}}, "fields: is {'title'}; it should be a list"),
        ({"items": b"results"}, "items: is b'results'; it should be a valid string"),
        ({"limit": {"argument": "n", "most": True}}, "limit.most: is True; it should be a valid integer"),
        ({"two\nlines": 1}, "^policy.'two.+lines': is not a known key"),
    ],
)
def test_an_inconsistent_policy_is_refused(change, complaint):
    with pytest.raises(BadInput, match=complaint):
        from_members(MEMBERS | change)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("server = ", "not TOML"),
        ('server = "x"\n[tools.a]', "draft"),
        (f"reviewed = true\nserver = {hex(16**5000)}", "not TOML .*digits"),
        ('server = "x"\nreviewed = true', "names no tool"),
        ('server = "x y"\nreviewed = true\n[tools.a]', "short name"),
        ('server = "x"\nreviewed = true\nfoo = 1', "foo"),
        ('server = "x"\nreviewed = true\n[tools.a]\nitems = ""', "tools.a: published"),
    ],
)
def test_an_invalid_policy_file_is_refused(text, complaint):
    with pytest.raises(BadInput, match=complaint):
        parse(text)


def test_the_ready_policies_are_read_by_name():
    assert sorted(ready()) == ["alpaca", "brave-search", "sec-edgar", "yahoo-finance"]
    assert [load(name).server for name in ready()] == [*ready()]
    with pytest.raises(BadInput, match="did you mean alpaca"):
        load("alpacca")
