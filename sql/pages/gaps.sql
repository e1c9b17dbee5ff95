-- title: Gaps
-- reads: prices, own_bars, av_daily_bars, splits, polygon_splits, dividends, polygon_dividends, xbrl_facts, sec_facts, reports, sec_filings, news, benzinga_news, transcripts, call_transcripts, av_estimates, av_earnings_calendar, macro_observations
SELECT dataset, gap_type, reason, count(*) AS gaps, max(available_at) AS available_at
FROM gaps
GROUP BY dataset, gap_type, reason
ORDER BY dataset, gap_type, reason
