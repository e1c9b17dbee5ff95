-- Line items as they were known at given instants. statements: a result of item_facts; epochs: companies and instants
-- (`known_at`). The value of each item, period and length is the one last stated by a periodic report, else by any
-- other filing, else the sum in line_item_sums. items: the items to read, and with them the terms of their sums; null
-- for all. since: read only periods that end within this many days before the newest one; null for all.
CREATE MACRO items_known(statements, epochs, items, since) AS TABLE
WITH
    newest AS MATERIALIZED (
        SELECT epoch.company, epoch.known_at, max(stated.period_end) AS newest_end
        FROM query_table(epochs) AS epoch
        JOIN query_table(statements) AS stated
            ON stated.company = epoch.company AND stated.available_at <= epoch.known_at
        GROUP BY ALL
    ),
    first AS (
        SELECT newest.company, known_at, newest_end, item, months, period_end, max(precedence) AS precedence
        FROM newest
        JOIN query_table(statements) AS stated
            ON stated.company = newest.company
            AND stated.available_at <= newest.known_at
            AND (since IS NULL OR stated.period_end >= newest.newest_end - since)
        WHERE
            items IS NULL
            OR list_contains(items, item)
            OR item IN (SELECT term FROM line_item_sums() AS sums WHERE list_contains(items, sums.item))
        GROUP BY ALL
    ),
    stated AS MATERIALIZED (
        SELECT first.known_at, first.newest_end, statements.* EXCLUDE (precedence), 'stated' AS method
        FROM first
        JOIN query_table(statements) AS statements
            ON statements.company = first.company
            AND statements.item = first.item
            AND statements.months IS NOT DISTINCT FROM first.months
            AND statements.period_end = first.period_end
            AND statements.precedence = first.precedence
    ),
    -- Some companies state the same debt both as the current part of long-term debt and as short-term debt.
    terms AS (
        SELECT stated.* REPLACE (sums.item AS item, sums.kind AS kind), place, term, factor, is_needed
        FROM stated
        JOIN line_item_sums() AS sums ON sums.term = stated.item
        QUALIFY
            is_needed
            OR row_number() OVER (
                PARTITION BY company, known_at, sums.item, place, unit, months, period_end, is_needed, value ORDER BY term
            ) = 1
    ),
    summed AS (
        SELECT
            known_at, any_value(newest_end) AS newest_end, company, item, kind, unit, sum(factor * value) AS value,
            min(period_start) AS period_start, period_end, months, max(available_at) AS available_at,
            max(available_at_source) AS available_at_source, bool_and(leads) AS leads, NULL::DOUBLE AS scale,
            sum(rounding) AS rounding,
            max(restated_at) AS restated_at,
            CASE
                WHEN max(restated_at) IS NOT NULL THEN struct_pack(
                    value := sum(factor * coalesce(former.value, value)),
                    scale := NULL::DOUBLE,
                    rounding := sum(coalesce(former.rounding, rounding)),
                    available_at := max(coalesce(former.available_at, available_at)),
                    inputs := flatten(list(coalesce(former.inputs, inputs) ORDER BY term))
                )
            END AS former,
            'summed' AS method, flatten(list(inputs ORDER BY term)) AS inputs, place
        FROM terms
        GROUP BY company, known_at, item, kind, place, unit, months, period_end
        HAVING count(*) FILTER (is_needed) = (
            SELECT count(*) FROM line_item_sums() AS sums
            WHERE sums.item = terms.item AND sums.place = terms.place AND sums.is_needed
        )
    )
FROM stated
UNION ALL BY NAME
SELECT summed.* EXCLUDE (place)
FROM summed
ANTI JOIN stated
    ON stated.company = summed.company
    AND stated.known_at = summed.known_at
    AND stated.item = summed.item
    AND stated.months IS NOT DISTINCT FROM summed.months
    AND stated.period_end = summed.period_end
QUALIFY row_number() OVER (
    PARTITION BY summed.company, summed.known_at, summed.item, summed.months, summed.period_end ORDER BY summed.place
) = 1;

-- Whether figures can be added or subtracted. Per-share figures can be added or subtracted only if the number of shares
-- stayed about the same. Otherwise a split or an issue of shares would look like a gain or a loss. apart: the largest
-- allowed ratio between the highest and the lowest number of shares. It is 1.24 for sums, since 5:4 is the smallest
-- common split. It is 1.06 for differences: if the last quarter had many more shares, its earnings per share differ
-- much from the year's less nine months'.
CREATE MACRO go_together(kind, scales, apart) AS
    kind <> 'per_share'
    OR (
        len(list_filter(scales, lambda scale: scale > 0)) = len(scales)
        AND list_max(scales) < apart * list_min(scales)
    );

-- Whether two figures are on the same basis. They are not if one of them was restated after the other was last stated.
-- An exception is a restatement of both at about the same time, each by the next filing that states it. former_at: when
-- the figure was last stated with its former value.
CREATE MACRO fits_with(restated_at, former_at, other_restated_at, other_at) AS
    restated_at IS NULL OR restated_at <= other_at OR coalesce(other_restated_at > former_at, false);

CREATE MACRO fit_together(one_restated_at, one_former_at, one_at, restated_at, former_at, stated_at) AS
    fits_with(one_restated_at, one_former_at, restated_at, stated_at)
    AND fits_with(restated_at, former_at, one_restated_at, one_at);

-- The concepts of a value's inputs.
CREATE MACRO concepts_of(inputs) AS list_sort(list_distinct(list_transform(inputs, lambda part: part.concept)));

-- The inputs of a value, one text each.
CREATE MACRO made_of(inputs) AS list_transform(
    inputs,
    lambda part: concat_ws(
        ' ', part.concept, concat_ws('/', part.period_start, part.period_end), part.form_type, part.accession_no
    )
);

-- Quarters, years, trailing twelve months (ttm) and balances. known: a result of items_known. A quarter that no filing
-- states is a longer period of the year less the rest of it. If the longer period was restated and the rest was not,
-- its former value is used. Trailing twelve months are a stated year; else a year, plus the first part of the next,
-- less the same part of that year; else four consecutive quarters. For per-share figures, four quarters take precedence
-- over a year plus and less parts.
CREATE MACRO item_periods(known) AS TABLE
WITH
    lengths AS MATERIALIZED (
        SELECT * EXCLUDE (scale), [scale] AS scales, former.available_at AS former_at
        FROM query_table(known)
        WHERE kind IN ('flow', 'per_share') AND months IN (3, 6, 9, 12)
    ),
    wholes AS (
        SELECT *, false AS is_former FROM lengths
        UNION ALL BY NAME
        SELECT
            * REPLACE (
                former.value AS value,
                former.available_at AS available_at,
                former.inputs AS inputs,
                former.rounding AS rounding,
                [former.scale] AS scales,
                NULL AS restated_at,
                NULL AS former,
                NULL AS former_at
            ),
            true AS is_former
        FROM lengths
        WHERE former IS NOT NULL
    ),
    rests AS (
        SELECT
            whole.* REPLACE (
                part.period_end + 1 AS period_start,
                3 AS months,
                whole.value - part.value AS value,
                'difference' AS method,
                greatest(whole.available_at, part.available_at) AS available_at,
                whole.leads AND part.leads AS leads,
                whole.rounding + part.rounding AS rounding,
                list_concat(whole.inputs, part.inputs) AS inputs,
                list_concat(whole.scales, part.scales) AS scales
            ),
            concepts_of(whole.inputs) <> concepts_of(part.inputs) AS is_mixed
        FROM wholes AS whole
        JOIN lengths AS part
            ON part.company = whole.company
            AND part.known_at = whole.known_at
            AND part.item = whole.item
            AND part.unit = whole.unit
            AND part.months = whole.months - 3
            AND abs(part.period_start - whole.period_start) <= 7
        WHERE
            period_months(part.period_end + 1, whole.period_end) = 3
            AND go_together(whole.kind, list_concat(whole.scales, part.scales), 1.06)
            AND fit_together(
                whole.restated_at, whole.former_at, whole.available_at, part.restated_at, part.former_at, part.available_at
            )
        QUALIFY row_number() OVER (
            PARTITION BY whole.company, whole.known_at, whole.item, whole.period_end
            ORDER BY whole.leads AND part.leads DESC, is_former, whole.months DESC, part.period_end DESC
        ) = 1
    ),
    candidates AS (
        SELECT *, false AS is_former FROM lengths WHERE months = 3
        UNION ALL BY NAME
        FROM rests
    ),
    gaps AS (
        SELECT
            *,
            period_end - lag(period_end, 1, DATE '1900-01-01') OVER item_ends > 20 AS begins
        FROM candidates
        WINDOW item_ends AS (PARTITION BY company, known_at, item ORDER BY period_end, method)
    ),
    places AS (
        SELECT
            * EXCLUDE (begins),
            sum(begins::INTEGER) OVER (PARTITION BY company, known_at, item ORDER BY period_end, method) AS place
        FROM gaps
    ),
    -- Filings may end one quarter on two days, a few days apart; it stays one quarter. A difference of values of the
    -- leading concept takes precedence over a value that a note states under another concept, unless the two agree
    -- within rounding. A difference of values of two concepts never takes precedence over a stated value.
    quarters AS MATERIALIZED (
        SELECT places.* EXCLUDE (place, is_mixed)
        FROM places
        LEFT JOIN places AS quarter
            ON places.method = 'difference'
            AND quarter.method <> 'difference'
            AND quarter.company = places.company
            AND quarter.known_at = places.known_at
            AND quarter.item = places.item
            AND quarter.place = places.place
            AND quarter.unit = places.unit
            AND (
                places.is_mixed
                OR abs(quarter.value - places.value) <= (quarter.rounding + places.rounding) / 2
            )
        QUALIFY row_number() OVER (
            PARTITION BY places.company, places.known_at, places.item, places.place
            ORDER BY
                quarter.item IS NOT NULL, places.leads DESC, places.method = 'difference', places.available_at DESC,
                places.period_end DESC
        ) = 1
    ),
    windows AS (
        SELECT
            * REPLACE (
                min(period_start) OVER year AS period_start,
                12 AS months,
                sum(value) OVER year AS value,
                'four quarters' AS method,
                max(available_at) OVER year AS available_at,
                bool_and(leads) OVER year AS leads,
                flatten(list(inputs) OVER year) AS inputs,
                flatten(list(scales) OVER year) AS scales
            ),
            count(*) OVER year AS quarters,
            bool_or(is_former) OVER year AS has_former,
            sum(period_end - period_start + 1) OVER year AS days,
            min(unit) OVER year = max(unit) OVER year AS of_unit
        FROM quarters
        WINDOW year AS (
            PARTITION BY company, known_at, item ORDER BY period_end ROWS BETWEEN 3 PRECEDING AND CURRENT ROW
        )
    ),
    fours AS (
        SELECT * EXCLUDE (quarters, days, of_unit, has_former)
        FROM windows
        WHERE
            quarters = 4
            AND of_unit
            AND period_end - period_start + 1 BETWEEN 355 AND 380
            AND abs(days - (period_end - period_start + 1)) <= 7
            AND go_together(kind, scales, 1.24)
            AND (kind = 'per_share' OR NOT has_former)
    ),
    bridges AS (
        SELECT
            part.* REPLACE (
                before.period_end + 1 AS period_start,
                whole.value + part.value - before.value AS value,
                'year and part of the next' AS method,
                greatest(whole.available_at, part.available_at, before.available_at) AS available_at,
                whole.leads AND part.leads AND before.leads AS leads,
                list_concat(list_concat(whole.inputs, part.inputs), before.inputs) AS inputs,
                list_concat(list_concat(whole.scales, part.scales), before.scales) AS scales
            ),
            whole.is_former
        FROM lengths AS part
        JOIN wholes AS whole
            ON whole.company = part.company
            AND whole.known_at = part.known_at
            AND whole.item = part.item
            AND whole.unit = part.unit
            AND whole.months = 12
            AND abs(part.period_start - whole.period_end - 1) <= 7
        JOIN lengths AS before
            ON before.company = part.company
            AND before.known_at = part.known_at
            AND before.item = part.item
            AND before.unit = part.unit
            AND before.months = part.months
            AND abs(before.period_start - whole.period_start) <= 7
        WHERE
            part.months < 12
            AND part.period_end - before.period_end BETWEEN 355 AND 380
            AND go_together(part.kind, list_concat(list_concat(whole.scales, part.scales), before.scales), 1.24)
            AND fit_together(
                whole.restated_at, whole.former_at, whole.available_at,
                before.restated_at, before.former_at, before.available_at
            )
    ),
    twelves AS (
        SELECT *, 1 AS place FROM lengths WHERE months = 12
        UNION ALL BY NAME
        SELECT *, CASE kind WHEN 'per_share' THEN 2 ELSE 4 END AS place FROM fours
        UNION ALL BY NAME
        SELECT * REPLACE (12 AS months), CASE WHEN is_former THEN 5 ELSE 3 END AS place FROM bridges
    ),
    durations AS (
        SELECT 'quarter' AS span, * FROM quarters
        UNION ALL BY NAME
        SELECT 'year' AS span, * FROM lengths WHERE months = 12
        UNION ALL BY NAME
        SELECT 'ttm' AS span, * EXCLUDE (place)
        FROM twelves
        QUALIFY row_number() OVER (PARTITION BY company, known_at, item, period_end ORDER BY leads DESC, place, period_start) = 1
    )
SELECT * EXCLUDE (scales, leads, rounding, restated_at, former, former_at, is_former)
    REPLACE (CASE WHEN kind = 'per_share' THEN round(value, 6) ELSE value END AS value)
FROM durations
UNION ALL BY NAME
SELECT
    CASE WHEN months IS NULL THEN 'balance' WHEN months = 3 THEN 'quarter' ELSE 'year' END AS span,
    * EXCLUDE (scale, leads, rounding, restated_at, former)
FROM query_table(known)
WHERE kind = 'balance' OR (kind = 'average' AND months IN (3, 12));
