-- Analyst ratings, one row per symbol, firm and rating.
-- Of several revisions of one key the newest that was public counts; yahoo_upgrades_revisions holds all of them.
CREATE VIEW yahoo_upgrades AS
SELECT
    available_at, available_at_source, ticker, firm, first_stated, graded_at, to_grade, from_grade, action,
    price_target_action, current_price_target, prior_price_target, evidence
FROM yahoo_upgrades_revisions
QUALIFY row_number() OVER (
    PARTITION BY ticker, firm, first_stated
    ORDER BY available_at DESC, evidence DESC
) = 1;
