-- reads: xbrl_facts, sec_facts
-- Facts for ASOF joins: only rows that described the newest known period when they became public.
--
-- A plain ASOF join on available_at gives the row published last, which may restate an old period. Here a row is kept
-- if no newer period was public at its instant. This was already decided at that instant, so the choice never changes.
-- A figure from another form does not replace a periodic report's figure for the same period, unless `forms` is any. If
-- `forms` is periodic, other forms are not read.
--
-- Only numeric totals are used. A series is one company, concept, unit and period length. A period that ends after its
-- filing date is a forecast or an error; it is left out, since it would remain the newest period forever.
CREATE MACRO asof_facts(companies, concepts, forms) AS TABLE
SELECT *
FROM (
    SELECT
        * REPLACE (coalesce(unit, '') AS unit),
        CASE WHEN period_type = 'duration' THEN period_months(period_start, period_end) END AS months,
        coalesce(months, 0) AS span,
        2 * (period_end - DATE '1900-01-01') + (forms <> 'any' AND is_periodic(form_type))::INTEGER AS newness
    FROM all_facts(companies)
    WHERE
        concept IN (SELECT unnest(concepts))
        AND is_numeric
        AND member_count = 0
        AND period_end <= timezone('America/New_York', available_at)::DATE
        AND (forms <> 'periodic' OR is_periodic(form_type))
)
QUALIFY
    newness >= max(newness) OVER (
        PARTITION BY company, concept, unit, span
        ORDER BY available_at
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
    AND row_number() OVER (
        PARTITION BY company, concept, unit, span, available_at
        ORDER BY
            newness DESC, accession_no DESC, period_start DESC, period_type, evidence DESC, content_hash DESC
    ) = 1;
