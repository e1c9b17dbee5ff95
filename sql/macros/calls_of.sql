-- reads: transcripts, call_transcripts
-- The id of a call in `call_transcripts`, made from its fiscal quarter.
CREATE MACRO call_id(exchange, ticker, fiscal_year, fiscal_quarter) AS
    format('{}:{} {}Q{}', exchange, ticker, fiscal_year, fiscal_quarter);

-- Whether a call of the graph and a company's call of earningscall.biz are the same. The start decides, because the
-- graph's fiscal quarters are unreliable: the company may hold another event on the day of its earnings call. Starts of
-- one fiscal quarter may differ by 3 hours, which is the difference between American time zones, other starts by half
-- an hour. If earningscall.biz states no start, the fiscal quarter decides.
CREATE MACRO is_same_call(graph_start, graph_year, graph_quarter, call_start, call_year, call_quarter) AS
    coalesce(
        abs(epoch(graph_start) - epoch(call_start)) <= CASE
            WHEN graph_year = call_year AND graph_quarter = call_quarter THEN 10800 ELSE 1800
        END,
        graph_year = call_year AND graph_quarter = call_quarter,
        false
    );

-- The calls of a company from every source, each once. A call of earningscall.biz is used unless the graph has the same
-- call. `source` names the dataset. began: the start of the call, or when the text became public if no start is stated.
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
        WHERE is_same_call(
            graph.conference_datetime, graph.fiscal_year, graph.fiscal_quarter,
            call.call_start, call.fiscal_year, call.fiscal_quarter
        )
    );

-- union: calls | Earnings calls of every source, each once: as the graph has it, otherwise as earningscall.biz has it.
-- columns: available_at, available_at_source, ticker, company_name, conference_datetime, began, fiscal_quarter,
-- columns: fiscal_year, transcript_id, text, source, evidence
CREATE VIEW calls AS
SELECT
    available_at, available_at_source, ticker, company_name, conference_datetime, conference_datetime AS began,
    fiscal_quarter, fiscal_year, transcript_id, full_text AS text, 'transcripts' AS source, evidence
FROM transcripts
UNION ALL
SELECT
    available_at, available_at_source, ticker, NULL, call_start, coalesce(call_start, available_at), fiscal_quarter,
    fiscal_year, call_id(exchange, ticker, fiscal_year, fiscal_quarter), text, 'call_transcripts', evidence
FROM call_transcripts AS call
WHERE NOT EXISTS (
    FROM transcripts AS graph
    WHERE graph.ticker = call.ticker
        AND is_same_call(
            graph.conference_datetime, graph.fiscal_year, graph.fiscal_quarter,
            call.call_start, call.fiscal_year, call.fiscal_quarter
        )
);
