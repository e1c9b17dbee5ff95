-- reads: prices, own_bars, av_daily_bars, splits, polygon_splits
-- For each (ticker, instant) pair, the newest daily bar that was public then, if any. split_index makes closes of
-- different instants comparable, by the splits that were public at each. It is null from the first night over which the
-- price series does not continue. An unrecorded split then becomes a gap and not a return.
CREATE MACRO prices_at(pairs) AS TABLE
WITH
    events AS MATERIALIZED (FROM asof_pairs(pairs)),
    bars AS MATERIALIZED (FROM asof_prices(pair_companies(pairs))),
    acts AS MATERIALIZED (FROM splits_of(pair_companies(pairs))),
    joined AS MATERIALIZED (
        SELECT events.*, bar.* EXCLUDE (company, symbol, before)
        FROM events
        ASOF LEFT JOIN bars AS bar ON bar.company = events.company AND events.at >= bar.available_at
    ),
    moved AS (
        SELECT
            joined.position,
            CASE WHEN bool_and(acts.ratio IS NOT NULL) THEN product(acts.ratio) END AS shares,
            flatten(list(
                list_transform(
                    list_filter(acts.statements, lambda one: one.at <= joined.at), lambda one: one.evidence
                ) ORDER BY acts.execution_date
            )) AS split_evidence
        FROM joined
        JOIN acts
            ON acts.ticker = joined.company AND acts.execution_date <= joined.date AND acts.available_at <= joined.at
        GROUP BY joined.position
    ),
    nights AS (
        SELECT company, issuer, before.date AS since, date, available_at,
            ln(coalesce(nullif(open, 0), close) / nullif(before.close, 0)) AS move,
            ln(nullif(volume, 0) / nullif(before.volume, 0)) AS traded
        FROM bars
        WHERE before IS NOT NULL
    ),
    -- Only a large move or a split can break a price series.
    doubtful AS (
        FROM nights
        WHERE NOT goes_on(move, 0, traded)
            OR EXISTS (
                FROM acts
                WHERE ticker = company AND (
                    (execution_date > since AND execution_date <= nights.date)
                    OR (abs(execution_date - nights.date) <= 7 AND strays(move, abs(ln(ratio)), traded))
                )
            )
    ),
    crossed AS (
        SELECT
            joined.position, joined.company, joined.at, doubtful.date, doubtful.move, doubtful.traded,
            coalesce(sum(ln(acts.ratio)), 0) AS split
        FROM joined
        JOIN doubtful ON doubtful.company = joined.company
            AND doubtful.issuer = joined.issuer
            AND doubtful.available_at <= joined.at
        LEFT JOIN acts
            ON acts.ticker = joined.company
            AND acts.execution_date > doubtful.since
            AND acts.execution_date <= doubtful.date
            AND acts.available_at <= joined.at
        GROUP BY
            joined.position, joined.company, joined.at, doubtful.date, doubtful.available_at, doubtful.move,
            doubtful.traded
    ),
    broken AS (
        SELECT DISTINCT position
        FROM crossed
        WHERE NOT goes_on(move + split, split, traded - split)
            OR EXISTS (
                FROM acts
                WHERE ticker = crossed.company AND available_at <= crossed.at
                    AND abs(execution_date - crossed.date) <= 7
                    AND strays(crossed.move + crossed.split, abs(ln(ratio)), crossed.traded - crossed.split)
            )
    )
SELECT
    joined.*,
    CASE
        WHEN date IS NULL OR broken.position IS NOT NULL THEN NULL
        WHEN moved.position IS NOT NULL THEN shares
        ELSE 1
    END AS split_index,
    list_concat(CASE WHEN evidence IS NULL THEN [] ELSE [evidence] END, split_evidence) AS evidence_ids
FROM joined
LEFT JOIN moved ON moved.position = joined.position
LEFT JOIN broken ON broken.position = joined.position;
