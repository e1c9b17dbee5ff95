-- A company as a caller names it: a ticker, or CIKs and the tickers that rows without a CIK bear for it, one space
-- between them. `META@2022-06-09T04:00:00Z/..` is such a ticker, of rows public since then alone; `fund:SPY` is an ETF's.
-- A ticker that no CIK stands beside is what the sources write on their rows, whoever bore it.

CREATE MACRO company_ciks(company) AS
    list_filter(string_split(company, ' '), lambda part: regexp_full_match(part, '[0-9]{10}'));

CREATE MACRO company_funds(company) AS list_transform(
    list_filter(string_split(company, ' '), lambda part: starts_with(part, 'fund:') OR len(company_ciks(company)) = 0),
    lambda part: replace(part, 'fund:', '')
);

CREATE MACRO company_tickers(company) AS list_transform(
    list_filter(
        string_split(company, ' '),
        lambda part: NOT starts_with(part, 'fund:') AND NOT regexp_full_match(part, '[0-9]{10}')
    ),
    lambda part: struct_pack(
        ticker := split_part(part, '@', 1),
        since := coalesce(try_cast(split_part(split_part(part, '@', 2), '/', 1) AS TIMESTAMPTZ), TIMESTAMPTZ '-infinity'),
        until := coalesce(try_cast(split_part(split_part(part, '@', 2), '/', 2) AS TIMESTAMPTZ), TIMESTAMPTZ 'infinity')
    )
);

-- Whether a row that bears these tickers, and was public at `public_at`, is about the company.
CREATE MACRO bears_ticker(company, tickers, public_at) AS
    len(list_filter(
        company_tickers(company),
        lambda one: list_contains(tickers, one.ticker) AND one.since <= public_at AND public_at < one.until
    )) > 0;

-- Whether a row is about the company: by its CIK, where it has one and the company too. Every row is where none is asked.
CREATE MACRO is_about(company, its_cik, its_tickers, public_at) AS
    CASE
        WHEN company::VARCHAR IS NULL THEN true
        WHEN its_cik IS NOT NULL AND len(company_ciks(company)) > 0 THEN list_contains(company_ciks(company), its_cik)
        ELSE bears_ticker(company, its_tickers, public_at)
    END;

-- The tickers of a company, whenever it bore them.
CREATE MACRO company_labels(company) AS list_transform(company_tickers(company), lambda one: one.ticker);

-- Whether a filing is about the company: by its own CIK and ticker, or those of another company that it is linked to.
CREATE MACRO is_about_any(company, its_cik, its_tickers, public_at) AS
    is_about(company, its_cik, NULL, public_at) OR bears_ticker(company, its_tickers, public_at);

-- The parts of several companies, to join rows with: one row a CIK, a ticker or a fund.
CREATE MACRO company_parts(companies) AS TABLE
WITH asked AS (SELECT DISTINCT unnest(companies) AS company)
SELECT company, unnest(company_ciks(company)) AS cik, NULL AS ticker, NULL AS fund,
    TIMESTAMPTZ '-infinity' AS since, TIMESTAMPTZ 'infinity' AS until, false AS of_any_cik
FROM asked
UNION ALL
SELECT company, NULL, one.ticker, NULL, one.since, one.until, len(company_ciks(company)) = 0
FROM (SELECT company, unnest(company_tickers(company)) AS one FROM asked)
UNION ALL
SELECT company, NULL, NULL, unnest(company_funds(company)), TIMESTAMPTZ '-infinity', TIMESTAMPTZ 'infinity', false
FROM asked;
