-- reads: xbrl_facts, sec_facts
-- Every statement of a line item of companies, as company.sql reads them, by filings other than proxy statements, which
-- repeat a year's figures in whatever scale and may state another company's.
--
-- precedence: of the statements of a period the greatest counts. It is that of a periodic report, by the first concept of
-- the item that the filing states for periods of that length, and the newest. A filing's currency is the one it states most in: sums in another one are translations for the reader's convenience. scale:
-- the weighted number of shares of the filing's newest period, which tells what its figures per share are of. What a filing says counts by the facts
-- of it that became public at one instant, so that what comes later changes nothing.
CREATE MACRO item_facts(companies) AS TABLE
WITH
    stated AS MATERIALIZED (
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
    currencies AS (
        SELECT company, accession_no, available_at, unit AS currency
        FROM stated
        WHERE starts_with(unit, 'iso4217:') AND kind IN ('flow', 'balance')
        GROUP BY company, accession_no, available_at, unit
        QUALIFY row_number() OVER (PARTITION BY company, accession_no, available_at ORDER BY count(*) DESC, unit) = 1
    ),
    weighted AS (
        SELECT company, accession_no, available_at, arg_max(value, (period_end, -months, value)) AS scale
        FROM stated
        WHERE kind = 'average'
        GROUP BY ALL
    )
SELECT
    company, item, kind, unit, value, period_start, period_end, months, available_at, available_at_source, scale,
    [struct_pack(
        item, concept, value, unit, period_start, period_end, form_type, accession_no, source, available_at, evidence
    )] AS inputs,
    row_number() OVER (
        PARTITION BY company, item, months, period_end
        ORDER BY
            is_periodic(form_type), leads, available_at, accepted_at NULLS FIRST, accession_no, place DESC, evidence,
            content_hash
    ) AS precedence
FROM (
    SELECT *, place = min(place) OVER (PARTITION BY company, accession_no, available_at, item, months) AS leads
    FROM stated
    LEFT JOIN currencies USING (company, accession_no, available_at)
    LEFT JOIN weighted USING (company, accession_no, available_at)
    WHERE currency IS NULL OR NOT starts_with(unit, 'iso4217:') OR starts_with(unit, currency)
);
