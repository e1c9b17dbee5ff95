"""The pages in a real Chromium: no error on the console, no request to another host, and working navigation."""

import shutil
import time

import pytest

from pitlake.clock import instant, iso
from pitlake.lake import Lake
from pitlake.web.address import Address
from tests.doors.conftest import AS_OF, START, publish
from tests.web.chromium import MISSING, PHONE, browsing, served

pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {', '.join(MISSING)}")]
AT = Address(instant(AS_OF), "QBG")
PAGES = (
    AT.url(),
    AT.url("/compare", **{"with": "2024-02-01T00:00:00Z"}),
    AT.url("/ask", question="bars"),
    AT.url("/history", of="prices.close", k_entity_kind="company", k_entity_id="0000000001", k_date="2024-04-26"),
    *(f"{path}as_of={AS_OF}" for path in ("/companies?", "/tables?", "/table?dataset=prices&", "/sql?sql=FROM+news&")),
    "/unlock",
)


@pytest.fixture(scope="module")
def base(market_lake, tmp_path_factory):
    root = shutil.copytree(market_lake, tmp_path_factory.mktemp("browser") / "lake")
    message = {"cik": "0000000001", "source": "edgar_name", "kind": "company_name", "name": "Bogmarsh Oil"}
    message |= {"all_names": ["Bogmarsh Oil"], "available_at": START, "evidence": "e", "statement": "s"}
    publish(Lake(root), "names", [message], "names")
    with served(root) as base:
        yield base


@pytest.fixture(scope="module")
def browser():
    with browsing() as browser:
        yield browser


@pytest.mark.parametrize("page", PAGES)
def test_pages_load_without_console_errors_or_requests_to_other_hosts(base, browser, page):
    browser.go(base + page)
    question = browser.requests()
    assert base + "/static/pitlake.js" in question
    assert [each for each in question if not each.startswith((base, "data:"))] == []
    assert browser.console() == []


def test_moving_the_slider_shows_the_instant_and_updates_the_page_in_place(base, browser):
    browser.go(base + AT.url())
    browser.run(
        "window.here = 1; const s = document.querySelector('input[type=range]'); s.value = Number(s.value) - 30;"
        "s.dispatchEvent(new Event('input'));"
    )
    assert browser.run("return document.querySelector('.slide output').value") == "31 Mar 2024, 20:00"
    browser.run("document.querySelector('input[type=range]').dispatchEvent(new Event('change'))")
    there = browser.until("return location.search.includes('2024-04-01T00%3A00%3A00Z') && location.href")
    assert there == base + Address(instant("2024-04-01T00:00:00Z"), "QBG").url()
    assert browser.until("return document.title") == "QBG at Sunday 31 March 2024, 20:00 New York · pitlake"
    assert browser.run("return window.here") == 1  # the page was updated in place
    browser.back()
    browser.until(f"return document.querySelector('input[name=as_of]').value === '{iso(AT.as_of)}'")
    assert browser.console() == []


def test_companies_are_suggested_by_a_part_of_their_name(base, browser):
    browser.go(base + AT.url())
    browser.run("document.getElementById('tk').value = ''")
    browser.type("#tk", "bogm")
    script = "return [...document.querySelectorAll('#companies option')].map(one => [one.value, one.text]).join()"
    assert browser.until(script) == "0000000001,Bogmarsh Oil"


def test_the_back_links_move_by_release(base, browser):
    browser.go(base + AT.url())
    browser.click(".moves a")
    browser.until("return location.search.includes('2024-02-20T22%3A00%3A00Z')")
    browser.until("return document.querySelectorAll('.moves a').length === 6")


def test_an_evidence_mark_opens_its_entry_without_a_script(base, browser):
    browser.go(base + AT.url())
    assert not browser.run("return document.querySelector('.evidence').checkVisibility()")
    browser.click(".strip .ev")
    time.sleep(0.5)  # enough time for a script to react to the click
    assert browser.run("return document.querySelector('#e1').checkVisibility()")
    assert browser.run("return document.querySelector('#e1:target') !== null")


def test_no_page_is_wider_than_a_phone(base):
    with browsing(PHONE, dark=True) as phone:
        for page in PAGES:
            phone.go(base + page)
            wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert phone.run(wide) == 0, page
        assert phone.console() == []
