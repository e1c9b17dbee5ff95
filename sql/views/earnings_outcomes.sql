-- What the price did after an earnings release, by windows of sessions; a window shows once its last bar is public.
-- Of several revisions of one key the newest that was public counts; earnings_outcomes_revisions holds all of them.
CREATE VIEW earnings_outcomes AS
SELECT
    available_at, available_at_source, accession_no, ticker, event_at, sessions, base_date, end_date, base_close,
    end_close, split_factor, change, market_change, excess, evidence_ids, evidence
FROM earnings_outcomes_revisions
QUALIFY row_number() OVER (
    PARTITION BY accession_no, sessions
    ORDER BY available_at DESC, evidence DESC
) = 1;
