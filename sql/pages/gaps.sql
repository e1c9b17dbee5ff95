-- title: Gaps
-- reads: prices, own_bars, av_daily_bars, splits, xbrl_facts, sec_facts, reports, sec_filings, news, transcripts, av_estimates, macro_observations
SELECT dataset, gap_type, reason, count(*) AS gaps, max(available_at) AS available_at
FROM gaps
GROUP BY dataset, gap_type, reason
ORDER BY dataset, gap_type, reason
