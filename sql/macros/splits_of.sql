-- reads: splits, polygon_splits
-- The splits of these companies or tickers, each once. companies: in the form that company.sql reads. The graph's
-- statement takes precedence over Polygon's. The same ratio on two days within a week is one split. A split is public
-- from its first statement on, and has that statement's evidence and source. ratio: shares after the split for one
-- share before. The ratio and both numbers of shares are null if two statements of one day differ.
CREATE MACRO splits_of(companies) AS TABLE
WITH
    parts AS MATERIALIZED (
        SELECT company, cik, coalesce(ticker, fund) AS ticker, min(since) AS since, max(until) AS until,
            bool_or(of_any_cik) AS of_any_cik
        FROM company_parts(companies)
        GROUP BY ALL
    ),
    stated AS MATERIALIZED (
        SELECT
            cik, ticker, execution_date, split_from, split_to, split_to / split_from AS ratio, available_at,
            available_at_source, evidence, source
        FROM (
            FROM splits SELECT *, 'splits' AS source
            UNION ALL BY NAME
            FROM polygon_splits SELECT *, 'polygon_splits' AS source
        )
        WHERE split_from > 0 AND split_to > 0
    ),
    told AS MATERIALIZED (
        SELECT stated.* REPLACE (company AS ticker) FROM stated JOIN parts ON parts.cik = stated.cik
        UNION
        SELECT stated.* REPLACE (company AS ticker)
        FROM stated
        JOIN parts
            ON parts.ticker = stated.ticker
            AND (stated.cik IS NULL OR of_any_cik)
            AND available_at >= since
            AND available_at < until
    ),
    pairs AS (
        SELECT
            one.*,
            other.available_at AS other_at,
            other.available_at_source AS other_at_source,
            other.evidence AS other_evidence,
            other.source AS other_source,
            abs(other.ratio / one.ratio - 1) <= 0.001 AS same,
            other.execution_date = one.execution_date AS same_day,
            (other.source <> 'splits', other.execution_date, other.evidence)
                < (one.source <> 'splits', one.execution_date, one.evidence) AS first
        FROM told AS one
        JOIN told AS other ON other.ticker = one.ticker AND abs(other.execution_date - one.execution_date) <= 7
    )
SELECT
    ticker,
    execution_date,
    CASE WHEN NOT bool_or(same_day AND NOT same) THEN ratio END AS ratio,
    CASE WHEN NOT bool_or(same_day AND NOT same) THEN split_from END AS split_from,
    CASE WHEN NOT bool_or(same_day AND NOT same) THEN split_to END AS split_to,
    min(other_at) FILTER (same) AS available_at,
    arg_min(other_at_source, (other_at, other_source <> 'splits', other_evidence)) FILTER (same) AS available_at_source,
    arg_min(other_source, (other_at, other_source <> 'splits', other_evidence)) FILTER (same) AS source,
    arg_min(other_evidence, (other_at, other_source <> 'splits', other_evidence)) FILTER (same) AS evidence,
    list(other_evidence ORDER BY other_evidence) FILTER (same) AS evidence_ids,
    list({'evidence': other_evidence, 'at': other_at} ORDER BY other_evidence) FILTER (same) AS statements
FROM pairs
GROUP BY ticker, execution_date, ratio, split_from, split_to, pairs.source, pairs.evidence
HAVING NOT bool_or(first AND (same OR same_day));
