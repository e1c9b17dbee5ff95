"""The masked arm: what a model reads and says goes through one mask, one to one. Ids: L1."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.model import Answer, Call, Request, Results
from forge.model.messages import Returned
from forge.model.scripted import Scripted
from forge.walk.mask import Masked, mask_for

MASK = mask_for(
    [("AAPL", "Apple Inc."), ("F", "Ford Motor Company"), ("NOG", "Northern Oil and Gas, Inc."), ("QABZ", "Q")]
)
WORDS = st.sampled_from((
    "AAPL", '"F"', "NOG", "Apple", "Apple Inc.", "Ford Motor", "Northern Oil and Gas", "A", "QABZ", "1999", "2071",
    "2014-05-01", "20140501T110000Z", "FY2014", "2014Q1", "2,014", "2014.5", "12014", "value 17149.6",
    "2000-02-29T00:00:00Z",
))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("AAPL beat in FY2013", "QAAZ"),
        ("Apple Inc. and Apple", "Firm 0001 Incorporated and Firm 0001"),
        ('A car by "F"', 'A car by "QABZ"'),
        (
            "as of 2014-05-01T11:00:00Z, 2014Q1, 20140501T110000Z",
            "as of 2042-05-01T11:00:00Z, 2042Q1, 20420501T110000Z",
        ),
        ("17149.6 of 2,014 and 12014", "17149.6 of 2,014 and 12014"),
    ],
)
def test_l1_what_names_a_company_or_a_year_is_replaced(text, hidden):
    masked = MASK.hide(text)
    assert masked.startswith(hidden.replace("QABZ", MASK.hide("F")).replace("QAAZ", MASK.hide("AAPL")))
    assert not {"AAPL", "Apple", "2013", "2014"} & set(masked.replace("-", " ").replace(",", " ").split())


@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_l1_a_mask_is_one_to_one(text):
    assert MASK.show(MASK.hide(text)) == text
    assert "AAPL" not in MASK.hide(text)


def test_l1_a_masked_model_reads_nothing_of_it_and_its_calls_are_real():
    fake = MASK.hide("F")
    scripted = Scripted(
        [Answer(f"{fake} in 2042", (Call("fetch", {"params": {"ticker": fake, "since": "2042-05-01"}}, "c"),), "tools")]
    )
    call = Call("fetch", {"ticker": "F", "all": ["AAPL", 2014]}, "b")
    messages = ("AAPL in 2014", Answer("Apple", (call,)), Results((Returned(call, '{"ticker": "F"}'),)))
    answer = asyncio.run(Masked(scripted, MASK).ask(Request("It is 2014-05-01.", messages)))
    assert answer.text == "F in 2014"
    assert answer.calls[0].arguments == {"params": {"ticker": "F", "since": "2014-05-01"}}
    read = str(scripted.asked[0].canonical())
    assert not [one for one in ("AAPL", "Apple", "'F'", '"F"') if one in read]
    assert "It is 2042-05-01." in read
