-- A company is written as a ticker, or as CIKs and tickers with a space between them. The tickers match rows without a
-- CIK. `META@2022-06-09T04:00:00Z/..` matches such rows only from that instant on; `fund:SPY` is an ETF. A ticker
-- without a CIK matches every row with that ticker, whichever company had it at the time.

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

-- Whether a row with these tickers, public at `public_at`, is about the company.
CREATE MACRO bears_ticker(company, tickers, public_at) AS
    len(list_filter(
        company_tickers(company),
        lambda one: list_contains(tickers, one.ticker) AND one.since <= public_at AND public_at < one.until
    )) > 0;

-- Whether a row is about the company. CIKs decide if the row and the company have one, otherwise tickers. If the
-- company is null, every row counts.
CREATE MACRO is_about(company, its_cik, its_tickers, public_at) AS
    CASE
        WHEN company::VARCHAR IS NULL THEN true
        WHEN its_cik IS NOT NULL AND len(company_ciks(company)) > 0 THEN list_contains(company_ciks(company), its_cik)
        ELSE bears_ticker(company, its_tickers, public_at)
    END;

-- All tickers of a company, past and present.
CREATE MACRO company_labels(company) AS list_transform(company_tickers(company), lambda one: one.ticker);

-- Whether a row without a CIK can be about the company. DuckDB applies this while it scans files, so that it reads the
-- other columns only where it holds.
CREATE MACRO has_label(company, tickers) AS
    company::VARCHAR IS NULL OR list_has_any(tickers, company_labels(company));

-- Whether a row with this CIK can be about one of the companies, applied likewise. The join decides about a long list.
CREATE MACRO has_any_cik(companies, its_cik) AS
    len(companies) > 8
    OR list_contains(flatten(list_transform(companies, lambda company: company_ciks(company))), its_cik);

-- The same for a row with this ticker. A row with a CIK counts only if a company is written without one.
CREATE MACRO has_any_label(companies, its_cik, its_ticker) AS
    len(companies) > 8
    OR (
        list_contains(flatten(list_transform(companies, lambda company: company_labels(company))), its_ticker)
        AND (
            its_cik IS NULL
            OR list_bool_or(list_transform(companies, lambda company: len(company_ciks(company)) = 0))
        )
    );

-- Whether a filing is about the company: by its own CIK, or by any of its tickers, including those of other companies
-- it is linked to.
CREATE MACRO is_about_any(company, its_cik, its_tickers, public_at) AS
    is_about(company, its_cik, NULL, public_at) OR bears_ticker(company, its_tickers, public_at);

-- The CIKs, tickers and funds of several companies, one row each, to join with.
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
