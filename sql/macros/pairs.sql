-- The (ticker, instant) pairs a caller asks about, numbered in their order. A pair after the as of is an error: what
-- is public then is not here, and the newest row that is here would be passed off as it.

CREATE MACRO asof_pairs(pairs) AS TABLE
SELECT
    position,
    pair.ticker,
    CASE
        WHEN pair.at > as_of() THEN error('pairs: an instant lies after the as of')::TIMESTAMPTZ
        ELSE pair.at
    END AS at
FROM (
    SELECT unnest(listed) AS pair, unnest(range(len(listed))) AS position
    FROM (SELECT from_json(pairs::JSON, '[{"ticker": "VARCHAR", "at": "TIMESTAMPTZ"}]') AS listed)
);
