-- reads: exhibits
-- The rows of the view `exhibits` about one company, or all rows if the ticker is null.
CREATE MACRO exhibits_of(wanted) AS TABLE
FROM exhibits
WHERE is_about(wanted, cik, [ticker], available_at);
