-- The (ticker, instant) pairs of a question, numbered in order. company: in the form that company.sql reads. A pair
-- after as_of raises an error. The session lacks the rows that became public in between, so it would return an older
-- row as the newest.
--
-- The pairs come from range(), whose number of rows is known when a query is planned: an unnested list counts as one
-- row, and for one row an ASOF join is planned as a loop over all bars.

CREATE MACRO asof_pairs(pairs) AS TABLE
SELECT
    position,
    pair.ticker,
    coalesce(pair.company, pair.ticker) AS company,
    CASE
        WHEN pair.at > as_of() THEN error('pairs: an instant lies after as_of')::TIMESTAMPTZ
        ELSE pair.at
    END AS at
FROM (
    SELECT position, listed[position + 1] AS pair
    FROM range(json_array_length(pairs::JSON)::BIGINT) AS places (position),
        (SELECT from_json(pairs::JSON, '[{"ticker": "VARCHAR", "at": "TIMESTAMPTZ", "company": "VARCHAR"}]') AS listed)
);

-- The companies of the pairs. It is a constant once the pairs are, so that all_facts.sql can filter by it while it scans.
CREATE MACRO pair_companies(pairs) AS list_distinct(list_transform(
    from_json(pairs::JSON, '[{"ticker": "VARCHAR", "company": "VARCHAR"}]'),
    lambda pair: coalesce(pair.company, pair.ticker)
));
