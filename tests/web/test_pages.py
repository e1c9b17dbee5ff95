"""The time machine's pages: every number matches SQL, no link reveals later events, and every text is escaped."""

import random
import re
import shlex
import shutil
import subprocess
import sys
from datetime import date, datetime, timedelta, timezone

import pytest

from pitlake import clock
from pitlake.clock import instant, iso
from pitlake.datasets import all_datasets
from pitlake.lake import Lake
from pitlake.session import Session, connect
from pitlake.web import pages
from pitlake.web.address import Address, forward, parse_address
from pitlake.web.questions import all_questions, get
from tests.doors.conftest import AS_OF, START, facts, filings, news, prices, publish
from tests.web.browsing import BASE, TOKEN, Numbers, browsing, wrong_numbers

T = instant(AS_OF)
PAGES = 6
"""The number of random pages to check; `python -m tests.web.browsing` checks 50."""
REPEATED = datetime(2024, 4, 10, 21, tzinfo=timezone.utc)
HOSTILE = '<script src="//evil.example/x.js"></script>"\'><img src=x onerror=alert(1)>{{ 7*7 }}'
UNLOCKED = {"origin": BASE, "cookie": f"pitlake_token={TOKEN}"}


def stated_again(at, value):
    """Return the first quarter's revenue as stated in a later filing."""
    more = {"accession_no": f"0000000003-24-{at.day:06d}", "value": str(value), "value_number": float(value)}
    more |= {"available_at": at, "evidence": f"neo4j:Fact:again-{at.day}", "form_type": "10-K"}
    return next(facts()) | more


@pytest.fixture(scope="module")
def root(market_lake, tmp_path_factory):
    """The market lake with one figure that is repeated and then revised, and with texts that contain markup."""
    root = shutil.copytree(market_lake, tmp_path_factory.mktemp("web") / "lake")
    lake = Lake(root)
    message = [stated_again(REPEATED, 100), stated_again(REPEATED + timedelta(days=10), 90)]
    publish(lake, "xbrl_facts", [*facts(), *message], "revised")
    article = next(news()) | {
        "id": "bzNews_666",
        "title": HOSTILE,
        "evidence": HOSTILE,
        "available_at": T - timedelta(1),
    }
    publish(lake, "news", [*news(), article], "hostile")
    form = {
        "form_type": HOSTILE,
        "items": [HOSTILE],
        "role": "primary_filer",
        "tickers": ["QBG"],
        "description": HOSTILE,
    }
    late = filings("Report", (date(2024, 4, 25),), series=7, **form, created=lambda _, accepted: accepted)
    publish(lake, "reports", late, "hostile-form")
    return root


@pytest.fixture(scope="module")
def client(root):
    with browsing(root) as client:
        yield client


def test_every_number_on_a_page_matches_sql(client, root):
    chance, display = random.Random(7), 0
    for _ in range(PAGES):
        at = START - timedelta(days=3) + timedelta(minutes=chance.randrange(60 * 24 * 150))
        count, wrong = wrong_numbers(client, root, Address(at, chance.choice(("QBG", "QZP"))))
        assert not wrong
        display += count
    assert display > PAGES * 10


def test_pages_are_cached_until_the_lake_has_a_new_version(root, tmp_path, monkeypatch):
    lake = Lake(shutil.copytree(root, tmp_path / "lake"))
    answers, ask = [], Session.ask
    monkeypatch.setattr(Session, "ask", lambda *inputs, **options: [answers.append(inputs), ask(*inputs, **options)][1])
    monkeypatch.setattr(pages, "MOST_PAGES", 2)
    with browsing(lake.root) as client:
        first, again = (client.get(Address(T, "QBG").url()) for _ in range(2))
        count = len(answers)
        assert (first.status_code, first.text, first.headers) == (200, again.text, again.headers)
        as_json = client.get(Address(T, "QBG").url(), headers={"accept": "application/json"})
        assert as_json.json()["company"]
        assert client.get(Address(T, "QBG").url("/at.json")).text == as_json.text != first.text
        assert len({client.get(Address(T, name).url()).text for name in ("QBG", "QZP", "QBRY")}) == 3
        assert client.get(Address(T, "QBG").url()).text == first.text  # evicted, and made again
        assert len(answers) > count
        more = next(news()) | {"id": "bzNews_777", "title": "Said since", "evidence": "n:777", "available_at": T}
        publish(lake, "news", [*news(), more], "more")
        assert "Said since" in client.get(Address(T, "QBG").url()).text
        assert client.get(Address(T, "QBG").url() + "&as_of=2999-01-01T00:00:00Z").status_code == 400


def test_a_page_shows_nothing_published_after_t(client):
    page = client.get(f"/at?as_of={AS_OF}&ticker=QBG").text
    instants = [instant(text) for text in re.findall(r'<time datetime="([^"]+)"', page)]
    assert len(instants) > 30
    assert max(instants) == T
    assert "bzNews_148" not in page  # published after T


def figures(client, at):
    """Return the table of newest figures."""
    page = client.get(Address(at, "QBG").url()).text
    return re.search(r'id="h-fig".*?</table>', page, re.DOTALL)[0]


def test_a_figure_shows_its_first_publication_and_its_current_vintage(client):
    page = figures(client, REPEATED)
    (row,) = re.findall(r"<tr><th scope=\"row\"[^>]*>Revenue.*?</tr>", page, re.DOTALL)
    assert re.findall(r'<time datetime="([^"]+)"', row) == ["2024-02-20T22:00:00Z", iso(REPEATED)]
    assert "repeated, unchanged" in row
    revised = figures(client, REPEATED + timedelta(days=10))
    (row,) = re.findall(r"<tr class=\"chg\"><th scope=\"row\"[^>]*>Revenue.*?</tr>", revised, re.DOTALL)
    assert "revised from" in row
    assert [value for value, _, _ in Numbers(row).found] == ["90.0", "100.0"]


def test_a_numbers_history_lists_each_revision_with_a_link_to_its_instant(client):
    page = client.get(Address(T, "QBG").url()).text
    link = next(link for value, what, link in Numbers(page).found if value == "90.0" and not what)
    response = client.get(link)
    assert [value for value, _, _ in Numbers(response.text).found] == ["90.0", "100.0", "100.0"]
    jumps = re.findall(r'<a href="(/at\?[^"]+)">as of that time</a>', response.text)
    assert len(jumps) == 3
    before = client.get(jumps[1].replace("&amp;", "&")).text
    assert '<data value="100.0">' in before
    assert '<data value="90.0">' not in before


def test_back_links_move_by_release_and_forward_links_only_by_calendar(client):
    page = client.get(Address(instant("2024-02-20T22:00:01Z"), "QBG").url()).text
    moves = re.search(r'<div class="moves">(.*?)</form>', page, re.DOTALL)[1]
    back, ahead = moves.split('<span class="lab">Forward</span>')
    assert re.findall(r"‹ (.*?)</a>", back) == ["10-Q", "Last close", "1 week"]
    assert "as_of=2024-02-20T22%3A00%3A00Z" in back
    assert re.findall(r">([^<]+) ›</a>", ahead) == ["Next close", "1 day", "1 week"]
    assert [iso(move.to) for move in forward(instant("2024-03-08T22:00:00Z"))] == [
        "2024-03-11T20:00:00Z",  # Monday's close, in summer time
        "2024-03-09T22:00:00Z",
        "2024-03-15T21:00:00Z",  # the same time of day in New York
    ]


def test_forward_links_do_not_reveal_an_unscheduled_market_closure():
    assert iso(forward(instant("2025-01-08T22:00:00Z"))[0].to) == "2025-01-09T21:00:00Z"
    assert iso(forward(instant("2025-01-09T22:00:00Z"))[0].to) == "2025-01-10T21:00:00Z"


def test_time_controls_redirect_to_a_canonical_address(client):
    form = {"as_of": "2024-03-08T22:30:15Z", "date": "2024-03-08", "time": "17:30:15", "ticker": "QBG"}
    stay = date(2024, 3, 8).toordinal()
    for changed, where in (
        ({"day": stay + 3}, "2024-03-11T21:30:15Z"),
        ({"day": stay + 3, "date": "2024-04-01"}, "2024-04-01T21:30:15Z"),
        ({"day": stay, "time": "09:30"}, "2024-03-08T14:30:00Z"),
        ({"day": stay}, "2024-03-08T22:30:15Z"),
    ):
        answer = client.get("/at", params=form | changed)
        assert answer.status_code == 303
        assert answer.headers["location"] == Address(instant(where), "QBG").url()


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("/at?as_of=2999-01-01T00:00:00Z&ticker=QBG", "as_of: is in the future"),
        ("/at?as_of=2024-05-01T00:00:00Z&ticker=QBG&date=2999-01-01&time=10:00", "as_of: is in the future"),
        (f"/compare?as_of={AS_OF}&with=2999-01-01T00:00:00Z&ticker=QBG", "as_of: is in the future"),
        (f"/at?as_of={AS_OF}", "ticker: is missing"),
        ("/at?ticker=QBG", "as_of: missing"),
        ("/at?as_of=2024-05-01&ticker=QBG", "as_of: "),
        (f"/at?as_of={AS_OF}&ticker=QBG&date=today", "date: 'today' is not a date"),
        (f"/history?as_of={AS_OF}&ticker=QBG&of=event_returns.daily_stock", "of: 'event_returns' is not a dataset"),
        (f"/history?as_of={AS_OF}&ticker=QBG&of=prices.symbol", "of: 'symbol' is not a column of numbers"),
        (f"/history?as_of={AS_OF}&ticker=QBG&of=prices.close&k_date=x", "k_date: 'x' is not a date"),
        (f"/ask?as_of={AS_OF}&ticker=QBG&question=secrets", "question: there is no question 'secrets'"),
        ("/r/../../etc/passwd", "Not Found"),
        ("/r/0123456789abcdez", "receipt: is not the id"),
        ("/r/0123456789abcdef", "no stored receipt"),
        ("/nowhere", "Not Found"),
    ],
)
def test_bad_input_is_answered_with_a_single_sentence(client, address, sentence):
    answer = client.get(address)
    assert answer.status_code in (400, 404)
    (reply,) = re.findall(r'<p class="note bad">(.*?)</p>', answer.text)
    assert sentence in reply.replace("&#39;", "'")
    assert "Traceback" not in answer.text


def test_the_current_instant_is_not_refused_as_the_future(client):
    assert parse_address({"as_of": iso(clock.now()), "ticker": "QBG"}).ticker == "QBG"


def test_hostile_texts_stay_texts(client):
    for address in (
        Address(T, "QBG").url(),
        Address(T, "QBG").url("/compare", **{"with": "2024-02-01T00:00:00Z"}),
        *(Address(T, "QBG").url("/ask", question=name) for name in ("news", "filings")),
    ):
        page = client.get(address).text
        assert "&lt;script" in page
        assert "<script src=" in page.replace("/static/", "", 1)
        assert re.findall(r"<script[^>]*>", page) == ['<script src="/static/pitlake.js" defer>']
        assert "<img" not in page
        assert " onerror=" not in re.sub(r"&lt;.*?&gt;", "", page)
        assert "{{ 7*7 }}" in page
    tried = client.get("/at", params={"as_of": HOSTILE, "ticker": HOSTILE})
    assert tried.status_code == 400
    assert "<script src=//" not in tried.text


@pytest.mark.parametrize("name", all_questions())
def test_the_sql_of_a_question_returns_the_rows_of_the_page(root, name):
    question = get(name)
    with connect(T, lake=root) as session:
        company = session.company("QBG").company
        assert session.sql(question.written(company)).rows() == question.ask(session, company).rows()


def test_every_question_reads_only_registered_datasets():
    for question in all_questions().values():
        assert set(question.reads) <= set(all_datasets()), question.name


def test_the_python_and_the_command_shown_on_a_page_run(client, root, monkeypatch):
    page = client.get(Address(T, "QBG").url("/ask", question="filings")).text
    texts = [
        text.replace("&#39;", "'").replace("&#34;", '"').replace("&gt;", ">").replace("&lt;", "<")
        for text in re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)
    ]
    monkeypatch.setenv("PITLAKE_LAKE", str(root))
    scope: dict = {}
    exec(texts[1], scope)
    line = shlex.split(texts[2])
    done = subprocess.run(
        [sys.executable, "-m", *line, "--format", "csv"], capture_output=True, text=True, check=True, timeout=120
    )
    assert len(scope["rows"]) == 3 == len(done.stdout.splitlines()) - 1
    assert scope["rows"][0][1] in done.stdout


def test_a_receipt_link_opens_to_the_same_bytes_after_a_later_publish(market_lake, tmp_path):
    root = shutil.copytree(market_lake, tmp_path / "lake")
    lake = Lake(root)
    with browsing(root) as client:
        form = {"as_of": AS_OF, "ticker": "QBG", "question": "bars"}
        response = client.post("/receipts", data=form, headers=UNLOCKED)
        assert response.status_code == 303
        before = client.get(response.headers["location"])
        assert before.status_code == 200
        later = (row | dict.fromkeys(("open", "high", "low", "close"), 1.0) | {"evidence": "late"} for row in prices())
        publish(lake, "prices", later, "later", observed_at=clock.now())
        after = client.get(response.headers["location"])
    assert Lake(root).head() > 5
    assert before.content == after.content


def test_the_session_pool_is_limited_and_closes_idle_sessions(root):
    with browsing(root, idle=60.0) as client:
        for day in range(6):
            client.get(Address(T - timedelta(days=day), "QBG").url())
        assert len(client.pool.sessions) == 4
    assert len(client.pool.sessions) == 0
    with browsing(root, idle=0.0) as client:
        client.get(Address(T, "QBG").url())
        assert len(client.pool.sessions) == 0


def test_a_page_loads_after_its_pooled_session_was_lost(root):
    with browsing(root) as client:
        client.get(Address(T, "QBG").url())
        with client.pool.session(T) as session:
            session.close()
        assert client.get(Address(T, "QZP").url()).status_code == 200


@pytest.fixture(scope="module")
def named(root, tmp_path_factory):
    """A client of the lake with a company that changed its name and ticker."""
    lake = Lake(shutil.copytree(root, tmp_path_factory.mktemp("named") / "lake"))
    message = [("company_name", "Facebook, Inc.", 60), ("ticker", "FB", 60)]
    message += [("company_name", "Meta Platforms", 30), ("ticker", "META", 30)]
    rows = [
        {"cik": "0001326801", "source": "edgar_name", "kind": kind, "name": name, "all_names": [name]}
        | {"available_at": T - timedelta(days), "evidence": name, "statement": name}
        for kind, name, days in message
    ]
    publish(lake, "names", rows, "names")
    with browsing(lake.root) as client:
        yield client


@pytest.mark.parametrize("text", ["FB", "meta plat", "facebook", "1326801", "META"])
def test_a_company_is_found_by_name_ticker_or_cik(named, text):
    (result,) = named.get(f"/companies.json?as_of={AS_OF}&q={text}").json()["found"]
    assert (result["name"], result["ticker"], sorted(result["tickers"])) == ("Meta Platforms", "META", ["FB", "META"])


def test_a_name_in_the_ticker_box_is_searched_as_of_t(named):
    for text in ("meta plat", "Facebook", "1326801"):
        answer = named.get(f"/at?as_of={AS_OF}&ticker={text}", follow_redirects=False)
        assert answer.headers["location"].startswith("/companies?as_of=")
    assert "/at?as_of=" in named.get("/companies", params={"as_of": AS_OF, "q": "Facebook"}).text
    before = iso(T - timedelta(45))
    (result,) = named.get("/companies.json", params={"as_of": before, "q": "facebook"}).json()["found"]
    assert (result["name"], result["tickers"]) == ("Facebook, Inc.", ["FB"])
    assert named.get("/companies.json", params={"as_of": before, "q": "meta"}).json()["found"] == []
    assert "No company was known" in named.get("/companies", params={"as_of": before, "q": "meta"}).text


def test_a_ticker_resolved_with_hindsight_is_marked_on_the_page(named):
    page = named.get(Address(T - timedelta(45), "META").url()).text
    (mark,) = re.findall(r'<details class="quiet">(.*?)</details>', page)
    assert mark.startswith("<summary>read with hindsight</summary><p>META: read as CIK 0001326801, with hindsight.</p>")
