-- summary: A concept split by the members of one axis over the newest quarters.
-- agent: xbrl
-- reads: xbrl_facts, sec_facts, reports
-- ids: quarter, member
-- param ticker ticker required | Ticker of the company.
-- param concept_qname text required | Qualified name, such as us-gaap:Revenues.
-- param member_qnames texts required | Qualified names of the members, all of one axis.
-- param num_quarters int = 4 | Number of newest report periods, usually 4 to 8.
-- column quarter | Period of report.
-- column member | Qualified name of the member.
-- column member_label | Its local name without "Member".
-- column value
-- column dimensionality [members] | Number of members that qualify the fact; 1 means only this member.
-- column unit | Unit of the value, such as iso4217:USD or shares.
-- column accessionNo | Accession number of the newest filing that states the fact.
-- column formType | EDGAR form type of that filing.
-- column period_start | First day of the fact's period.
-- column period_end | Its last day, inclusive.
-- column dimensions
-- column members
-- column cik | Central Index Key of the company, 10 digits, zero-padded.
-- column evidence
WITH
    quarters AS (
        SELECT DISTINCT period_of_report AS quarter
        FROM reports
        WHERE
            role = 'primary_filer'
            AND is_about_any($company, cik, tickers, available_at)
            AND is_periodic(form_type)
            AND period_of_report IS NOT NULL
        ORDER BY quarter DESC
        LIMIT $num_quarters
    ),
    wanted AS (SELECT unnest($member_qnames::VARCHAR[]) AS member),
    facts AS (
        SELECT *
        FROM xbrl_facts_of($company)
        WHERE
            concept = $concept_qname
            AND member_count > 0
            AND is_numeric
            AND period_type = 'duration'
            AND period_months(period_start, period_end) = 3
    )
SELECT
    available_at,
    available_at_source,
    quarter,
    member,
    regexp_replace(split_part(member, ':', 2), 'Member$', '') AS member_label,
    value,
    member_count AS dimensionality,
    unit,
    accession_no AS "accessionNo",
    form_type AS "formType",
    period_start,
    period_end,
    dimensions,
    members,
    cik,
    evidence
FROM facts
JOIN quarters ON abs(datediff('day', period_end, quarter)) <= 7
JOIN wanted ON list_contains(string_split(members, '|'), member)
QUALIFY row_number() OVER (
    PARTITION BY quarter, member
    ORDER BY
        member_count,
        available_at DESC,
        accession_no DESC,
        CASE decimals WHEN 'INF' THEN 1000 ELSE try_cast(decimals AS INTEGER) END DESC NULLS LAST,
        members,
        period_end DESC,
        period_start DESC,
        unit
) = 1
ORDER BY quarter DESC, member
