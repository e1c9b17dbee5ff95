-- summary: Total return of a symbol for each bar, from the splits and dividends public at the as of, oldest first.
-- agent: entity
-- reads: prices, own_bars, av_daily_bars, splits, polygon_splits, dividends, polygon_dividends
-- ids: entity_id, date
-- hindsight: evidence_ids
-- param ticker ticker required | Ticker of a company, or of an industry, sector or index ETF.
-- param start_date day optional | First trading day; default: all.
-- param end_date day optional | Last trading day; default: the newest.
-- column date | Trading day of the bar.
-- column close [unit] | Last price, divided by the number of shares that one share of the day has become; null where the basis in bars_adjusted is unproven.
-- column dividend [unit] | Cash per share of the dividends that went ex since the previous bar, divided likewise.
-- column unit | Unit of close and dividend.
-- column total_return [ratio] | What one dollar at the previous bar has become, including dividends: 1 for no change; null on the first day.
-- column total_return_index [ratio] | What one dollar on the first day has become; null after the first unproven bar or dividend in another currency.
-- column entity_id | CIK, or the industry's, sector's or index's id.
-- column source | Dataset of the bar, in order of preference: prices, own_bars, av_daily_bars.
-- column evidence_ids | Evidence of the bar, the previous bar, each split, and the dividends between the two bars.
WITH
    acts AS MATERIALIZED (FROM splits_of([$company])),
    bars AS MATERIALIZED (
        SELECT
            date, entity_id, source, available_at_source, evidence, split_evidence,
            greatest(available_at, split_at) AS available_at,
            CASE WHEN whole THEN close / split_factor END AS close,
            lag(date) OVER days AS date_before,
            lag(evidence) OVER days AS evidence_before
        FROM adjusted_bars($company)
        WHERE date >= coalesce($start_date::DATE, date) AND date <= coalesce($end_date::DATE, date)
        WINDOW days AS (ORDER BY date)
    ),
    -- An amount is per share as of the ex-date, or as of the day it was stated if that is later.
    paid AS (
        SELECT
            dividend.ex_dividend_date,
            any_value(dividend.available_at) AS available_at,
            any_value(dividend.evidence) AS evidence,
            CASE WHEN any_value(coalesce(currency, 'USD')) = 'USD'
                THEN any_value(cash_amount) / coalesce(product(acts.ratio), 1)
            END AS amount
        FROM dividends_of($company) AS dividend
        LEFT JOIN acts
            ON acts.execution_date > greatest(
                dividend.ex_dividend_date, timezone('America/New_York', dividend.available_at)::DATE
            )
        WHERE dividend.ex_dividend_date IS NOT NULL
        GROUP BY ex_dividend_date, dividend.dividend_type, dividend.evidence
    ),
    returns AS (
        SELECT
            bars.date,
            any_value(bars.close) AS close,
            any_value(date_before) AS date_before,
            count(paid.ex_dividend_date) AS payments,
            count(paid.amount) AS usable,
            coalesce(sum(paid.amount), 0) AS dividend,
            greatest(any_value(bars.available_at), max(paid.available_at)) AS available_at,
            any_value(bars.available_at_source) AS available_at_source,
            any_value(bars.entity_id) AS entity_id,
            any_value(bars.source) AS source,
            list_concat(
                list_filter([any_value(bars.evidence), any_value(evidence_before)], lambda one: one IS NOT NULL),
                list_concat(
                    any_value(split_evidence),
                    list(paid.evidence ORDER BY paid.evidence) FILTER (paid.evidence IS NOT NULL)
                )
            ) AS evidence_ids
        FROM bars
        LEFT JOIN paid ON paid.ex_dividend_date > bars.date_before AND paid.ex_dividend_date <= bars.date
        GROUP BY bars.date
    ),
    steps AS (
        SELECT
            * REPLACE (CASE WHEN payments = usable THEN dividend END AS dividend),
            CASE WHEN payments = usable THEN (close + dividend) / nullif(lag(close) OVER (ORDER BY date), 0) END AS total_return
        FROM returns
    )
SELECT
    max(available_at) OVER so_far AS available_at,
    available_at_source,
    date,
    close,
    dividend,
    'USD' AS unit,
    total_return,
    CASE WHEN bool_and(close IS NOT NULL AND (date_before IS NULL OR total_return IS NOT NULL)) OVER so_far
        THEN coalesce(product(total_return) OVER so_far, 1)
    END AS total_return_index,
    entity_id,
    source,
    evidence_ids
FROM steps
WINDOW so_far AS (ORDER BY date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
ORDER BY date
