-- reads: report_sections
-- What the view `report_sections` holds about one company, or about all when the ticker is null.
CREATE MACRO report_sections_of(wanted) AS TABLE
FROM report_sections
WHERE is_about(wanted, cik, [ticker], available_at);
