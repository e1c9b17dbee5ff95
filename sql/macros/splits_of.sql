-- reads: splits, polygon_splits
-- The splits of companies, as company.sql reads them, or of tickers, each once: the graph's statement before Polygon's, and one ratio told for two days within a
-- week is one split. Public when the first of its statements was. ratio: shares after for one before; null where two
-- statements of one day differ.
CREATE MACRO splits_of(companies) AS TABLE
WITH
    parts AS MATERIALIZED (
        SELECT company, coalesce(ticker, fund) AS ticker, min(since) AS since, max(until) AS until
        FROM company_parts(companies)
        WHERE cik IS NULL
        GROUP BY ALL
    ),
    told AS MATERIALIZED (
        SELECT split.* REPLACE (company AS ticker), split_to / split_from AS ratio
        FROM (
            SELECT ticker, execution_date, split_from, split_to, available_at, evidence, 0 AS source FROM splits
            UNION ALL
            SELECT ticker, execution_date, split_from, split_to, available_at, evidence, 1 FROM polygon_splits
        ) AS split
        JOIN parts ON parts.ticker = split.ticker AND available_at >= since AND available_at < until
        WHERE split_from > 0 AND split_to > 0
    ),
    pairs AS (
        SELECT
            one.*,
            other.available_at AS other_at,
            other.evidence AS other_evidence,
            abs(other.ratio / one.ratio - 1) <= 0.001 AS same,
            other.execution_date = one.execution_date AS same_day,
            (other.source, other.execution_date, other.evidence) < (one.source, one.execution_date, one.evidence) AS first
        FROM told AS one
        JOIN told AS other ON other.ticker = one.ticker AND abs(other.execution_date - one.execution_date) <= 7
    )
SELECT
    ticker,
    execution_date,
    CASE WHEN NOT bool_or(same_day AND NOT same) THEN ratio END AS ratio,
    min(other_at) FILTER (same) AS available_at,
    list(other_evidence ORDER BY other_evidence) FILTER (same) AS evidence_ids,
    list({'evidence': other_evidence, 'at': other_at} ORDER BY other_evidence) FILTER (same) AS statements
FROM pairs
GROUP BY ticker, execution_date, ratio, source, evidence
HAVING NOT bool_or(first AND (same OR same_day));
