-- reads: qa_exchanges
-- The rows of the view `qa_exchanges` about one company, or all rows if the ticker is null.
CREATE MACRO qa_exchanges_of(wanted) AS TABLE
FROM qa_exchanges
WHERE is_about(wanted, NULL, [ticker], available_at);
