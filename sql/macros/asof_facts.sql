-- reads: xbrl_facts, sec_facts
-- Series to join as of an instant: rows that, when they became public, told of the newest period known.
--
-- A plain ASOF join on available_at gives the row published last, which may restate an old period. A row is kept here
-- when its period is not older than any that was public at that very instant: known then, so it never changes. Nor does
-- another form's figure take the place of a periodic report's of the same period, unless `forms` is any; where it is
-- periodic, other forms are not read.
--
-- Numeric totals; a series is a company, concept, unit and length of period. A period that ends after its filing was
-- made is a forecast or a slip, and would stand as the newest for good: it is left out.
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
