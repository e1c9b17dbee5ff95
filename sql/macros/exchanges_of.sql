-- reads: transcripts, qa_exchanges, call_transcripts
-- The texts of the calls of a company, or of all companies if it is null, from every source, each call once. They are
-- the graph's exchanges of question and answer, otherwise the speakers' turns of earningscall.biz, or its whole text.
-- `source` names the dataset, and `kind` the kind of vectors of the text. id: the call's id, `_qa__` and the position.
CREATE MACRO exchanges_of(wanted) AS TABLE
WITH
    of_graph AS (
        SELECT DISTINCT
            CASE WHEN wanted::VARCHAR IS NULL THEN exchange.ticker ELSE '' END AS holder,
            exchange.conference_datetime, fiscal_year, fiscal_quarter
        FROM (SELECT DISTINCT transcript_id, ticker, conference_datetime FROM qa_exchanges_of(wanted)) AS exchange
        LEFT JOIN transcripts USING (transcript_id)
    ),
    others AS (
        SELECT *, CASE WHEN wanted::VARCHAR IS NULL THEN ticker ELSE '' END AS holder
        FROM call_transcripts
        WHERE is_about(wanted, NULL, [ticker], available_at)
    ),
    turns AS (
        SELECT
            call.*, unnest(parts) AS part, generate_subscripts(parts, 1) - 1 AS sequence
        FROM (
            SELECT *, CASE WHEN turn_count > 0 THEN turns -> '$[*]' ELSE [json_object('text', text)] END AS parts
            FROM others
            ANTI JOIN of_graph
                ON of_graph.holder = others.holder
                AND is_same_call(
                    of_graph.conference_datetime, of_graph.fiscal_year, of_graph.fiscal_quarter,
                    others.call_start, others.fiscal_year, others.fiscal_quarter
                )
        ) AS call
    ),
    every AS (
        SELECT
            available_at, available_at_source, transcript_id, sequence, questioner, questioner_title, responders,
            exchanges, ticker, conference_datetime, 'qa_exchanges' AS source, 'qa_exchange' AS kind, evidence
        FROM qa_exchanges_of(wanted)
        UNION ALL
        SELECT
            available_at, available_at_source, call_id(exchange, ticker, fiscal_year, fiscal_quarter), sequence, NULL,
            NULL, NULL, json_array(part)::VARCHAR, ticker, call_start, 'call_transcripts', 'call_transcripts', evidence
        FROM turns
    )
SELECT
    *,
    transcript_id || '_qa__' || sequence AS id,
    array_to_string(exchanges ->> '$[*].text', chr(10)) AS text
FROM every;
