-- summary: Analysts' newest grades of a company, newest first.
-- agent: entity
-- reads: yahoo_upgrades
-- ids: firm, graded_at
-- hindsight: evidence
-- param ticker ticker required | Ticker of the company.
-- param limit int = 10 | How many grades at most.
-- column firm | The firm that rates.
-- column graded_at | The rating's instant as stated.
-- column to_grade | The new rating, in the firm's words.
-- column from_grade | The rating before.
-- column action | What the rating did.
-- column current_price_target [unit] | The price target.
-- column unit | Unit of the price target.
-- column evidence | What the row is taken from.
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
