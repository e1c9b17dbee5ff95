-- summary: Price and total return of a symbol by bar, from splits and dividends public at as_of, oldest first.
-- agent: entity
-- reads: prices, own_bars, av_daily_bars, splits, polygon_splits, dividends, polygon_dividends, reports, sec_filings, universe_events
-- ids: entity_id, date
-- hindsight: evidence_ids
-- param ticker ticker required | Ticker of a company, or of an industry, sector or index ETF.
-- param start_date day optional | First trading day; default: all.
-- param end_date day optional | Last trading day; default: the newest.
-- column date
-- column close [unit] | Last price, divided by the number of shares that one share of the day has become; null where the basis in bars_adjusted is unproven.
-- column dividend [unit] | Cash per share of the dividends that went ex since the previous bar, divided in the same way; null if it is unknown.
-- column unit | Unit of close and dividend.
-- column price_return [ratio] | What one dollar at the previous bar has become, without dividends: 1 for no change; null on the first day.
-- column total_return [ratio] | The same including dividends; null if the dividend is unknown.
-- column total_return_index [ratio] | What one dollar on the first day has become; null after the first unproven bar or unknown dividend.
-- column note | Why the dividend is unknown, that a distribution in kind may be missing, or on the last bar that the stock was delisted.
-- column entity_id
-- column source
-- column evidence_ids | Evidence of the bar, the previous bar, each split, the dividends between the two bars, and the filings of the note.
WITH
    polled AS MATERIALIZED (
        SELECT unnest(days.dividends) AS dividends, unnest(days.splits) AS splits
        FROM (SELECT from_json($polled, '{"dividends": [["DATE"]], "splits": [["DATE"]]}') AS days)
    ),
    acts AS MATERIALIZED (FROM splits_of([$company])),
    bars AS MATERIALIZED (
        SELECT
            date, entity_id, source, available_at_source, evidence, split_evidence,
            greatest(available_at, split_at) AS available_at,
            CASE WHEN whole THEN close / split_factor END AS close,
            lag(date) OVER days AS date_before,
            lag(evidence) OVER days AS evidence_before
        FROM adjusted_bars($company, since := coalesce($start_date::DATE, DATE '-infinity'))
        WHERE date <= coalesce($end_date::DATE, date)
        WINDOW days AS (ORDER BY date)
    ),
    -- An amount is per share of the ex-day, if it was stated by then, or if polls prove that no split followed by the
    -- day it was stated.
    stated AS (
        SELECT
            *,
            timezone('America/New_York', available_at)::DATE AS stated_on,
            stated_on <= ex_dividend_date OR (
                EXISTS (FROM polled WHERE splits[1] <= ex_dividend_date + 1 AND stated_on <= splits[2])
                AND NOT EXISTS (FROM acts WHERE execution_date > ex_dividend_date AND execution_date <= stated_on)
            ) AS proven
        FROM dividends_of($company)
        WHERE ex_dividend_date IS NOT NULL
    ),
    -- What a source stated by the ex-day counts if it has restated the amount since.
    as_paid AS (
        SELECT ticker, ordinal, max_by(struct_pack(cash_amount, available_at, evidence), available_at) AS before
        FROM polygon_dividends_revisions
        WHERE timezone('America/New_York', available_at)::DATE <= ex_dividend_date
        GROUP BY ticker, ordinal
    ),
    paid AS (
        SELECT
            ex_dividend_date,
            any_value(stated.available_at) AS available_at,
            any_value(coalesce(before.evidence, stated.evidence)) AS evidence,
            any_value(coalesce(currency, 'USD')) = 'USD' AS in_dollars,
            CASE WHEN in_dollars AND count(acts.execution_date) = count(acts.ratio)
                THEN any_value(CASE WHEN proven THEN cash_amount ELSE before.cash_amount END)
                    / coalesce(product(acts.ratio), 1)
            END AS amount
        FROM stated
        LEFT JOIN as_paid ON NOT proven AND as_paid.ticker = stated.ticker AND as_paid.ordinal = stated.ordinal
        LEFT JOIN acts ON acts.execution_date > ex_dividend_date
        GROUP BY ex_dividend_date, dividend_type, stated.evidence
    ),
    disposals AS (
        SELECT
            available_at, evidence, timezone('America/New_York', available_at)::DATE AS filed_on,
            CASE WHEN form_type LIKE '10-12B%' THEN filed_on ELSE filed_on - 7 END AS first,
            CASE WHEN form_type LIKE '10-12B%' THEN filed_on + 365 ELSE filed_on END AS last
        FROM filings_of($company)
        WHERE form_type LIKE '10-12B%'
            OR (form_type LIKE '8-K%' AND len(list_filter(items, lambda item: regexp_matches(item, '(^|Item )2\.01'))) > 0)
    ),
    removals AS (
        SELECT available_at, evidence, effective_on
        FROM universe_events
        WHERE event = 'delisted' AND common_equity AND list_contains(company_ciks($company), cik)
    ),
    returns AS (
        SELECT
            bars.date,
            any_value(bars.close) AS close,
            any_value(date_before) AS date_before,
            count(paid.ex_dividend_date) > count(paid.amount) AS is_unproven,
            NOT bool_and(in_dollars) AS is_foreign,
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
    notes AS (
        SELECT
            *,
            close / nullif(lag(close) OVER (ORDER BY date), 0) AS price_return,
            CASE
                WHEN is_foreign THEN 'a dividend is in another currency'
                WHEN is_unproven THEN 'the basis of a dividend is unproven, because a split may have followed it'
                WHEN date_before IS NOT NULL AND NOT EXISTS (
                    FROM polled WHERE dividends[1] <= date_before + 1 AND date <= dividends[2]
                ) THEN 'no poll proves the dividends of these days'
            END AS unknown
        FROM returns
    ),
    steps AS (
        SELECT
            * REPLACE (CASE WHEN unknown IS NULL THEN dividend END AS dividend),
            CASE WHEN unknown IS NULL
                THEN (close + dividend) / nullif(lag(close) OVER (ORDER BY date), 0)
            END AS total_return,
            CASE WHEN price_return < 0.97 THEN (
                SELECT max_by(struct_pack(available_at, evidence), (available_at, evidence))
                FROM disposals WHERE notes.date BETWEEN first AND last
            ) END AS disposal,
            CASE WHEN date = max(date) OVER () THEN (
                SELECT max_by(struct_pack(available_at, evidence, effective_on), (available_at, evidence))
                FROM removals WHERE effective_on BETWEEN notes.date AND notes.date + 30
            ) END AS removal
        FROM notes
    )
SELECT
    max(greatest(available_at, disposal.available_at, removal.available_at)) OVER so_far AS available_at,
    available_at_source,
    date,
    close,
    dividend,
    'USD' AS unit,
    price_return,
    total_return,
    CASE WHEN bool_and(close IS NOT NULL AND (date_before IS NULL OR total_return IS NOT NULL)) OVER so_far
        THEN coalesce(product(total_return) OVER so_far, 1)
    END AS total_return_index,
    nullif(concat_ws('; ', unknown, CASE WHEN disposal IS NOT NULL
        THEN 'a distribution in kind may be missing: a Form 10-12B, or an 8-K with item 2.01, was filed'
    END, CASE WHEN removal IS NOT NULL
        THEN 'delisted: a Form 25 for the common equity, effective ' || removal.effective_on
            || '; what holders received after this bar is not in the return'
    END), '') AS note,
    entity_id,
    source,
    list_concat(
        evidence_ids, list_filter([disposal.evidence, removal.evidence], lambda one: one IS NOT NULL)
    ) AS evidence_ids
FROM steps
WINDOW so_far AS (ORDER BY date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
ORDER BY date
