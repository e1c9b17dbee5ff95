"""Responses are classified by content, not HTTP status: Alpha Vantage's keys, Polygon's status, Yahoo's envelope."""

import pytest

PREMIUM = "You may subscribe to any of the premium plans at https://example.com/premium/ to remove the limits"


@pytest.mark.parametrize(
    ("answer", "outcome", "gap_type", "reason"),
    [
        ({"Information": f"Our standard API rate limit is 25 requests per day. {PREMIUM}"},
         "refused", "upstream_error", "daily limit reached"),
        ({"Information": f"Send requests more sparingly (1 request per second). {PREMIUM} (25 requests per day)"},
         "retry", "upstream_error", "too many requests at once"),
        ({"Note": "Our standard API call frequency is 5 calls per minute and 500 calls per day."},
         "retry", "upstream_error", "too many requests at once"),
        ({"Information": f"This is a premium endpoint. {PREMIUM}"}, "refused", "upstream_error", "premium endpoint"),
        ({"Information": "The demo API key is for demo purposes only."},
         "refused", "upstream_error", "the key is not accepted"),
        ({"Error Message": "the parameter apikey is invalid or missing."},
         "refused", "upstream_error", "the key is not accepted"),
        ({"Error Message": "Invalid API call. Please retry."},
         "refused", "upstream_error", "the source does not know the symbol or the call"),
        ({"Information": "Something new."}, "refused", "upstream_error", "refused without a known reason"),
        ({}, "retry", "no_data", "no data"),
        ({"symbol": "QACB", "annualEarnings": [], "quarterlyEarnings": []}, "retry", "no_data", "no data"),
        ({"symbol": "QACB", "annualEarnings": [], "quarters": []},
         "refused", "upstream_error", "answer has an unknown format"),
        ("<html>Sorry</html>", "retry", "upstream_error", "the answer is not a JSON object"),
        ('{"symbol": "QACB", "annualEar', "retry", "upstream_error", "the answer is not JSON"),
        (" ", "retry", "upstream_error", "the answer is blank"),
    ],
)  # fmt: skip
def test_an_alpha_vantage_answer_is_classified_by_its_message(answers, answer, outcome, gap_type, reason):
    verdict = answers("av_earnings", tickers=("QACB",)).verdict(answer if answer != {} else "{}")
    assert (verdict.outcome, verdict.gap_type, verdict.reason) == (outcome, gap_type, reason)


def test_an_empty_earnings_calendar_is_retried(answers):
    calendar = answers("av_earnings_calendar", tickers=("QACB",))
    head = "symbol,name,reportDate,fiscalDateEnding,estimate,currency,timeOfTheDay\n"
    assert calendar.verdict(head).outcome == "retry"
    assert calendar.verdict(f'{head}"{"A" * 200_000}\n').reason == "the answer is not CSV"
    assert calendar.verdict("{}").gap_type == "no_data"
    for unknown in ("symbol,when\nAAPL,soon", "symbol,reportDate\nAAPL,2024-05-02"):
        assert calendar.verdict(unknown).reason == "answer has an unknown format"


@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        ({"status": "NOT_AUTHORIZED", "message": "upgrade"}, "refused", "not included in the plan"),
        ({"status": "ERROR", "error": "You've exceeded the maximum requests per minute"}, "retry",
         "too many requests at once"),
        ({"status": "ERROR", "error": "Unknown API Key"}, "refused", "the source refused the request"),
        ({"status": "OK", "results": []}, "retry", "no data"),
        ({"status": "OK", "results": {}, "count": 1}, "retry", "no data"),
        ({"status": "OK", "results": "none"}, "refused", "answer has an unknown format"),
        ({"status": "DELAYED", "results": [{}]}, "ok", ""),
        ({"request_id": "1"}, "refused", "answer has an unknown format"),
    ],
)  # fmt: skip
def test_a_polygon_answer_is_classified_by_its_status(answers, answer, outcome, reason):
    verdict = answers("polygon_splits", tickers=("QBRY",)).verdict(answer)
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("answer", "outcome", "gap_type"),
    [
        ({"quoteSummary": {"result": None, "error": {"code": "Not Found"}}}, "refused", "no_data"),
        ({"finance": {"result": None, "error": {"code": "Unauthorized"}}}, "refused", "upstream_error"),
        ({"quoteSummary": {"result": [], "error": None}}, "retry", "no_data"),
        ({"quoteSummary": {"result": None, "error": None}}, "refused", "upstream_error"),
        ({"news": []}, "refused", "upstream_error"),
        ("Too Many Requests", "retry", "upstream_error"),
    ],
)
def test_a_yahoo_answer_is_classified_by_its_envelope(answers, answer, outcome, gap_type):
    verdict = answers("yahoo_upgrades", tickers=("QACB",)).verdict(answer)
    assert (verdict.outcome, verdict.gap_type) == (outcome, gap_type)
