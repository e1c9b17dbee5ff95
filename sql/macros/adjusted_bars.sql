-- reads: prices, own_bars, av_daily_bars, splits, polygon_splits
-- Daily bars of one company or ETF, with the facts that a series needs. split_factor: the number of shares that one
-- share of the bar's day has become, by the splits that were public. whole: whether the series is unbroken from the bar
-- on. It is broken by an uncertain split, by an overnight move as large as a split's that neither a recorded split nor
-- the volume explains, and by a move as large as a split recorded within a week of it. since: the first day. The bars
-- of the week before it are read for `unseen`.
CREATE MACRO adjusted_bars(wanted, since := DATE '-infinity') AS TABLE
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
        FROM bars_of(wanted, since := CASE WHEN isfinite(since) THEN since - 7 ELSE since END) AS bars
        LEFT JOIN acts ON acts.execution_date > bars.date
        GROUP BY ALL
    ),
    steps AS (
        SELECT
            *,
            ln(split_factor / lead(split_factor) OVER days) AS split,
            ln(lead(coalesce(nullif(open, 0), close)) OVER days / nullif(close, 0)) + split AS move,
            ln(lead(nullif(volume, 0)) OVER days / nullif(volume, 0)) - split AS traded,
            (SELECT list(struct_pack(day := execution_date, size := abs(ln(ratio)))) FROM acts) AS recorded
        FROM factors
        WINDOW days AS (ORDER BY date)
    ),
    -- unseen: the largest split of the week before that the price did not show on its recorded day. Such a split may
    -- take effect only at this bar.
    nights AS (
        SELECT
            * EXCLUDE (traded, recorded),
            coalesce(goes_on(move, split, traded), true)
            AND NOT coalesce(list_bool_or(list_transform(
                recorded, lambda one: abs(one.day - date) <= 7 AND strays(move, one.size, traded)
            )), false) AS fits,
            max(CASE WHEN NOT fits THEN abs(split) END) OVER (
                ORDER BY date RANGE BETWEEN INTERVAL 7 DAY PRECEDING AND INTERVAL 1 DAY PRECEDING
            ) AS unseen
        FROM steps
    )
SELECT
    * EXCLUDE (certain, split, move, fits, unseen),
    coalesce(bool_and(
        certain AND fits AND coalesce(unseen = 0 OR abs(move) < unseen / 2, true)
    ) OVER (ORDER BY date ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), true) AS whole
FROM nights
QUALIFY date >= since;
