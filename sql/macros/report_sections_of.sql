-- reads: report_sections
-- The rows of the view `report_sections` about one company, or all rows if the ticker is null.
CREATE MACRO report_sections_of(wanted) AS TABLE
FROM report_sections
WHERE is_about(wanted, cik, [ticker], available_at);
