-- reads: qa_exchanges
-- What the view `qa_exchanges` holds about one company, or about all when the ticker is null.
CREATE MACRO qa_exchanges_of(wanted) AS TABLE
FROM qa_exchanges
WHERE is_about(wanted, NULL, [ticker], available_at);
