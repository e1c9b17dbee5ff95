-- reads: prices, splits, polygon_splits
-- Daily bars of a symbol with what makes a series of them: split_factor, the shares that one share of the bar's day has
-- become, by the splits that were public; and whether the series is whole from the bar on. It is not where a split is
-- uncertain, or where a price halves or doubles overnight and no split on record says why.
CREATE MACRO adjusted_bars(wanted) AS TABLE
WITH
    acts AS MATERIALIZED (FROM splits_of([wanted])),
    factors AS (
        SELECT
            bars.*,
            count(acts.ratio) = count(acts.execution_date) AS certain,
            CASE WHEN count(acts.ratio) = 0 THEN 1 ELSE product(acts.ratio) END AS split_factor,
            max(acts.execution_date) AS adjusted_to,
            max(acts.available_at) AS split_at,
            flatten(list(acts.evidence_ids ORDER BY acts.execution_date)
                FILTER (acts.execution_date IS NOT NULL)) AS split_evidence
        FROM bars_of(wanted) AS bars
        LEFT JOIN acts ON acts.execution_date > bars.date
        GROUP BY ALL
    ),
    steps AS (
        SELECT
            *,
            ln(split_factor / lead(split_factor) OVER days) AS split,
            ln(lead(coalesce(nullif(open, 0), close)) OVER days / nullif(close, 0)) + split AS move
        FROM factors
        WINDOW days AS (ORDER BY date)
    )
SELECT
    * EXCLUDE (certain, split, move),
    coalesce(bool_and(
        certain AND coalesce(goes_on(move, split), true)
    ) OVER (ORDER BY date ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), true) AS whole
FROM steps;
