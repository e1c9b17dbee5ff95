-- reads: exhibits
-- What the view `exhibits` holds about one company, or about all when the ticker is null.
CREATE MACRO exhibits_of(wanted) AS TABLE
FROM exhibits
WHERE is_about(wanted, cik, [ticker], available_at);
