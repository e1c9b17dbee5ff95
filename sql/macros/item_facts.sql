-- reads: xbrl_facts, sec_facts

-- Whether two values differ by more than rounding: money by more than half a unit of the coarser filing, other values by
-- more than a thousandth. A restatement within half a unit looks the same as rounding.
CREATE MACRO is_other(value, unit_stated, previous, previous_unit) AS
    abs(value - previous)
    > coalesce(greatest(unit_stated, previous_unit) / 2, 0.001 * greatest(abs(value), abs(previous)));

-- Every statement of a line item of these companies. companies: in the form that company.sql reads. Proxy statements
-- are left out: they repeat a year's figures in any scale and may state another company's.
--
-- leads: whether the filing states the item by this concept and by no concept further up in the list of line_items.sql.
-- Only statements for the item's newest and longest period in the filing count. A leading concept comes from the
-- statements themselves and not from a table in the notes. precedence: of several statements of a period, the one with
-- the highest number is used. Periodic reports take precedence over other forms, leading concepts over others, newer
-- statements over older ones, and an exact figure over the same figure rounded. A filing's currency is the one most of
-- its figures are in; amounts in another currency are convenience translations and are left out. scale: the number of
-- shares behind a per-share figure. It is the filing's weighted average number of shares in that period, else in its
-- newest period, else net income divided by the figure. The facts of a filing that became public at the same instant
-- are evaluated together, so that later facts change no result. rounding: the unit in which the filing states money, the
-- largest of 1, 10^3, 10^5 and 10^6 that divides all its amounts; null for other values. restated_at: when the newest value replaced a different
-- value from filings of the same kind. former: the replaced value.
CREATE MACRO item_facts(companies) AS TABLE
WITH
    mapped AS MATERIALIZED (
        SELECT
            company, item, kind, place, concept, coalesce(unit, '') AS unit, value_number AS value,
            period_start, period_end, period_months(period_start, period_end) AS months,
            available_at, available_at_source, accepted_at, form_type, coalesce(accession_no, '') AS accession_no,
            source, evidence, content_hash
        FROM all_facts(companies)
        JOIN line_item_concepts() USING (concept)
        WHERE
            is_numeric
            AND value_number IS NOT NULL
            AND member_count = 0
            AND (period_start IS NULL) = (kind = 'balance')
            AND period_end <= timezone('America/New_York', available_at)::DATE
            AND NOT regexp_matches(coalesce(form_type, ''), '14[AC]')
    ),
    totals AS MATERIALIZED (
        SELECT mapped.*
        FROM mapped
        ANTI JOIN (
            SELECT
                company, accession_no, available_at, parts.concept, if_less, period_start, period_end, mapped.value
            FROM mapped
            JOIN line_item_parts() AS parts ON parts.beside = mapped.item
        ) AS partial
            ON partial.company = mapped.company
            AND partial.accession_no = mapped.accession_no
            AND partial.available_at = mapped.available_at
            AND partial.concept = mapped.concept
            AND (
                NOT partial.if_less
                OR (
                    partial.period_start = mapped.period_start
                    AND partial.period_end = mapped.period_end
                    AND partial.value > mapped.value
                )
            )
    ),
    currencies AS (
        SELECT company, accession_no, available_at, unit AS currency
        FROM totals
        WHERE starts_with(unit, 'iso4217:') AND kind IN ('flow', 'balance')
        GROUP BY company, accession_no, available_at, unit
        QUALIFY row_number() OVER (PARTITION BY company, accession_no, available_at ORDER BY count(*) DESC, unit) = 1
    ),
    stated AS MATERIALIZED (
        SELECT *
        FROM totals
        LEFT JOIN currencies USING (company, accession_no, available_at)
        WHERE currency IS NULL OR NOT starts_with(unit, 'iso4217:') OR starts_with(unit, currency)
    ),
    roundings AS (
        SELECT
            company, accession_no, available_at,
            CASE
                WHEN bool_and(value % 1000000 = 0) THEN 1000000
                WHEN bool_and(value % 100000 = 0) THEN 100000
                WHEN bool_and(value % 1000 = 0) THEN 1000
                ELSE 1
            END AS unit_stated
        FROM stated
        WHERE currency IS NOT NULL AND starts_with(unit, 'iso4217:') AND kind IN ('flow', 'balance') AND value <> 0
        GROUP BY ALL
    ),
    weighted AS (
        SELECT company, accession_no, available_at, period_start, period_end, max(value) AS shares
        FROM stated
        WHERE kind = 'average'
        GROUP BY ALL
    ),
    weighted_last AS (
        SELECT company, accession_no, available_at, arg_max(shares, (period_end, period_start)) AS last_shares
        FROM weighted
        GROUP BY ALL
    ),
    earned AS (
        SELECT company, accession_no, available_at, period_start, period_end, arg_min(value, place) AS net_income
        FROM stated
        WHERE item = 'net_income'
        GROUP BY ALL
    ),
    ranked AS (
        SELECT
            company, item, kind, unit, value, period_start, period_end, months, available_at, available_at_source, leads,
            is_periodic(form_type) AS is_of_report,
            CASE WHEN kind IN ('flow', 'balance') AND starts_with(unit, 'iso4217:') THEN coalesce(unit_stated, 1) END AS rounding,
            CASE WHEN kind = 'per_share' THEN coalesce(shares, last_shares, net_income / nullif(value, 0)) END AS scale,
            [struct_pack(
                item, concept, value, unit, period_start, period_end, form_type, accession_no, source, available_at, evidence
            )] AS inputs,
            row_number() OVER (
                PARTITION BY company, item, months, period_end
                ORDER BY
                    is_periodic(form_type), leads, available_at, accepted_at NULLS FIRST, accession_no, place DESC,
                    length(rtrim(value::VARCHAR, '0.')), evidence, content_hash
            ) AS precedence
        FROM (
            SELECT
                *,
                place = first_value(place) OVER (
                    PARTITION BY company, accession_no, available_at, item ORDER BY period_end DESC, months DESC, place
                ) AS leads
            FROM stated
            LEFT JOIN weighted USING (company, accession_no, available_at, period_start, period_end)
            LEFT JOIN weighted_last USING (company, accession_no, available_at)
            LEFT JOIN earned USING (company, accession_no, available_at, period_start, period_end)
            LEFT JOIN roundings USING (company, accession_no, available_at)
            -- A balance of an earlier day under a lower-ranked concept means something else, such as cash including
            -- restricted cash.
            QUALIFY
                kind <> 'balance'
                OR place = min(place) OVER (PARTITION BY company, accession_no, available_at, item ORDER BY period_end DESC)
        )
    ),
    compared AS (
        SELECT *, lag(struct_pack(value, scale, rounding, available_at, inputs)) OVER alike AS previous
        FROM ranked
        WINDOW alike AS (
            PARTITION BY company, item, months, period_end, unit, is_of_report, leads ORDER BY available_at, precedence
        )
    )
SELECT
    * EXCLUDE (is_of_report, previous, is_restated),
    last_value(CASE WHEN is_restated THEN available_at END IGNORE NULLS) OVER alike AS restated_at,
    last_value(CASE WHEN is_restated THEN previous END IGNORE NULLS) OVER alike AS former
FROM (SELECT *, is_other(value, rounding, previous.value, previous.rounding) AS is_restated FROM compared)
WINDOW alike AS (
    PARTITION BY company, item, months, period_end, unit, is_of_report, leads ORDER BY available_at, precedence
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
);
