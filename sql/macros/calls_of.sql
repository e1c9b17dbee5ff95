-- reads: transcripts, call_transcripts
-- The id of a call in `call_transcripts`, made from its fiscal quarter.
CREATE MACRO call_id(exchange, ticker, fiscal_year, fiscal_quarter) AS
    format('{}:{} {}Q{}', exchange, ticker, fiscal_year, fiscal_quarter);

-- The earnings calls of a company from every source, each once. A call of earningscall.biz is used unless the graph has
-- one that started within 12 hours of it. `source` names the dataset. began: the start of the call, or when the text
-- became public if no start is stated.
CREATE MACRO calls_of(wanted) AS TABLE
WITH
    graph AS MATERIALIZED (FROM transcripts WHERE is_about(wanted, NULL, [ticker], available_at))
SELECT
    available_at, available_at_source, company_name, conference_datetime, conference_datetime AS began, fiscal_quarter,
    fiscal_year, transcript_id, 'transcripts' AS source, evidence
FROM graph
UNION ALL
SELECT
    available_at, available_at_source, NULL, call_start, coalesce(call_start, available_at), fiscal_quarter, fiscal_year,
    call_id(exchange, ticker, fiscal_year, fiscal_quarter), 'call_transcripts', evidence
FROM call_transcripts AS call
WHERE is_about(wanted, NULL, [ticker], available_at)
    AND NOT EXISTS (
        FROM graph
        WHERE abs(epoch(conference_datetime) - epoch(coalesce(call.call_start, call.available_at))) <= 43200
    );
