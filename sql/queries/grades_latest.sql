-- summary: Analysts' newest grades of a company, newest first.
-- agent: entity
-- reads: yahoo_upgrades
-- ids: firm, graded_at
-- hindsight: evidence
-- param ticker ticker required | Ticker of the company.
-- param limit int = 10 | Maximum number of grades.
-- column firm | Firm that issued the rating.
-- column graded_at | Instant of the rating, as stated.
-- column to_grade | New rating, in the firm's words.
-- column from_grade | Previous rating.
-- column action | What happened to the rating, in the source's words.
-- column current_price_target [unit] | Price target.
-- column unit | Unit of the price target.
-- column evidence
SELECT
    available_at,
    available_at_source,
    firm,
    graded_at,
    to_grade,
    from_grade,
    action,
    current_price_target,
    'USD' AS unit,
    evidence
FROM yahoo_upgrades
WHERE is_about($company, NULL, [ticker], available_at)
ORDER BY graded_at DESC, firm
LIMIT $limit
