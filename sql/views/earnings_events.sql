-- Earnings releases, one row per 8-K with item 2.02. A row combines the newest statement of each source that is public,
-- and is dated by the first instant whose clock was proven. A revision contains the statement of one source;
-- earnings_events_revisions has every revision.
CREATE VIEW earnings_events AS
SELECT
    available_at, available_at_source, accession_no,
    last_value(cik IGNORE NULLS) OVER so_far AS cik,
    last_value(ticker IGNORE NULLS) OVER so_far AS ticker,
    coalesce(first_value(CASE WHEN session IS NOT NULL THEN event_at END IGNORE NULLS) OVER so_far,
        first_value(event_at) OVER so_far) AS event_at,
    coalesce(first_value(CASE WHEN session IS NOT NULL THEN event_day END IGNORE NULLS) OVER so_far,
        first_value(event_day) OVER so_far) AS event_day,
    last_value(session IGNORE NULLS) OVER so_far AS session,
    coalesce(first_value(CASE WHEN session IS NOT NULL THEN acceptance_rule END IGNORE NULLS) OVER so_far,
        first_value(acceptance_rule) OVER so_far) AS acceptance_rule,
    first_value(release_rule) OVER so_far AS release_rule,
    last_value(reported_date IGNORE NULLS) OVER so_far AS reported_date,
    last_value(report_time IGNORE NULLS) OVER so_far AS report_time,
    last_value(fiscal_date_ending IGNORE NULLS) OVER so_far AS fiscal_date_ending,
    last_value(yahoo_date IGNORE NULLS) OVER so_far AS yahoo_date,
    last_value(call_start IGNORE NULLS) OVER so_far AS call_start,
    first_value(transcript_at IGNORE NULLS) OVER so_far AS transcript_at,
    source, statement, evidence
FROM earnings_events_revisions
WINDOW so_far AS (
    PARTITION BY accession_no
    ORDER BY available_at, source, statement, evidence
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
)
QUALIFY row_number() OVER (
    PARTITION BY accession_no
    ORDER BY available_at DESC, source DESC, statement DESC, evidence DESC
) = 1;
