"""The masked arm: all text that a model reads or writes passes through a one-to-one mask. Ids: L1."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.model import Answer, Call, Request, Results
from forge.model.messages import Returned
from forge.model.scripted import Scripted
from forge.walk.mask import Company, Masked, mask_for

MASK = mask_for(
    [
        Company(("AAPL",), ("Apple Inc.", "Apple Computer Inc"), "0000320193"),
        Company(("F",), ("Ford Motor Company",), "0000037996"),
        Company(("QBG",), ("Bogmarsh Oil and Gas, Inc.",), "0009800021"),
        Company(("QABZ",), ("Q",)),
    ]
)
WORDS = st.sampled_from((
    "AAPL", '"F"', "QBG", "Apple", "Apple Inc.", "Ford Motor", "Bogmarsh Oil and Gas", "A", "QABZ", "1999", "2071",
    "2014-05-01", "20140501T110000Z", "FY2014", "2014Q1", "2,014", "2014.5", "12014", "value 17149.6",
    "2000-02-29T00:00:00Z", "FY24", "'24", "Q1'24", "1Q24", "2H24E", "3/5/24", "3/5/2024", "Feb-24", "2024E",
    "20240305", "2023/24", "2024_report", "APPLE INC.", "Apple Computer", "0000320193", "CIK 320193",
    "0000320193-24-000069",
    "000032019324000069", "https://www.apple.com/news/2024?a=1", "apple.com", "see https://sec.gov/x), and", "1'24",
    "Q1 24", "12/24", "May 24", "a 5/6/7 of 3/5/24.5",
))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("AAPL beat in FY2013", "QAAZ"),
        ("Apple Inc. and Apple", "Firm 0001 and Firm 0001"),
        ('A car by "F"', 'A car by "QABZ"'),
        (
            "as of 2014-05-01T11:00:00Z, 2014Q1, 20140501T110000Z",
            "as of 2042-05-01T11:00:00Z, 2042Q1, 20420501T110000Z",
        ),
        ("17149.6 of 2,014 and 12014", "17149.6 of 2,014 and 12014"),
    ],
)
def test_l1_company_names_tickers_and_years_are_replaced(text, hidden):
    masked = MASK.hide(text)
    assert masked.startswith(hidden.replace("QABZ", MASK.hide("F")).replace("QAAZ", MASK.hide("AAPL")))
    assert not {"AAPL", "Apple", "2013", "2014"} & set(masked.replace("-", " ").replace(",", " ").split())


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("FY24 FY24E FY 24 fiscal 24 Q1FY24", "FY52 FY52E FY 52 fiscal 52 Q1FY52"),
        ("'24 Q1'24 Q1-24 1Q24 2H24 H1'24", "'52 Q1'52 Q1-52 1Q52 2H52 H1'52"),
        ("3/5/24 03/05/24 3/5/2024 20240305", "3/5/52 03/05/52 3/5/2052 20520305"),
        ("Feb-24 February '24 2024E 2024A 2023/24", "Feb-52 February '52 2052E 2052A 2051/52"),
        ("value_2024 24 2024.5 12024 May 24 12/24 'a' 24'", "value_2052 24 2024.5 12024 May 24 12/24 'a' 24'"),
    ],
)
def test_years_move_in_every_spelling_and_plain_numbers_stay(text, hidden):
    assert MASK.hide(text) == hidden
    assert MASK.show(hidden) == text


@pytest.mark.parametrize(
    "text", ["Bogmarsh Oil an", "of Bogmarsh Oil and G…", "name=Bogmarsh Oil, close=3", '"Ford Mo"']
)
def test_a_company_name_truncated_by_a_tool_is_hidden_too(text):
    assert not {"Bogmarsh", "Oil", "Ford"} & set(MASK.hide(text).replace(",", " ").replace("=", " ").split())


@pytest.mark.parametrize(
    "text",
    [
        "CIK 0000320193", "cik 320193", "0000320193-24-000069", "https://www.apple.com/newsroom/", "see apple.com/x",
        "000032019324000069", "Apple Computer", "APPLE", "company/320193/x",
    ],
)  # fmt: skip
def test_ids_and_addresses_and_former_names_are_hidden_and_come_back(text):
    hidden = MASK.hide(text)
    assert not [word for word in ("320193", "pple", "PPLE", "000069") if word in hidden]
    assert MASK.show(hidden) == text


@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_l1_a_mask_is_one_to_one(text):
    assert MASK.show(MASK.hide(text)) == text
    assert "AAPL" not in MASK.hide(text)


def test_l1_a_masked_model_reads_no_real_names_and_its_calls_are_unmasked():
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
    assert not [each for each in ("AAPL", "Apple", "'F'", '"F"') if each in read]
    assert "It is 2042-05-01." in read
