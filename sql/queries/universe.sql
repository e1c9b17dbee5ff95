-- summary: Status of companies at as_of: registered, listed or ended, including those that ended later.
-- agent: helper
-- reads: universe_events, names
-- ids: cik
-- param statuses texts = ["listed","registered","uncertain"] | Statuses to show. Others are `offered`, `delisted` and `deregistered`.
-- param ciks texts optional | Central Index Keys to show, 10 digits; default: all.
-- column cik | Central Index Key of the company.
-- column company_name | Newest name in `names`, on a filing or in an index; null if none of them has one.
-- column status | listed, registered (files reports, but no lasting listing is known), uncertain, offered (only a first registration), delisted or deregistered. Uncertain means that a class that no filing names was removed and no report followed, or that a Form 15 under 12(g) ended a registration while an exchange lists the company.
-- column exchange | Exchange that last certified or removed a class, if a filing says so.
-- column since | When the first of its filings in the lake became public.
-- column listed_at | When its newest listing became public.
-- column delisting_filed_at | When the newest removal of its common equity, or of an unknown class, became public; null if a 10-K or 10-Q followed without a notice of delisting (8-K, item 3.01).
-- column delisting_effective_on | Day that removal takes effect; the company is listed until that day.
-- column security_class | Class that was removed.
-- column rule_provision | Rule cited for that removal.
-- column deregistration_filed_at | When the newest end of its registration became public.
-- column deregistration_effective_on | Day the deregistration takes effect.
-- column renamed_at | When its newest name became public.
-- column former_name | Name before that one.
-- column evidence_ids | Evidence of every row the answer is based on.
WITH
    filed AS (
        SELECT
            cik, accession_no, event, min(available_at) AS available_at, max(available_at_source) AS available_at_source,
            max(form_type) AS form_type, max(company_name) AS company_name, max(former_name) AS former_name,
            max(exchange) AS exchange, max(security_class) AS security_class, bool_or(common_equity) AS common_equity,
            max(rule_provision) AS rule_provision,
            min(effective_on) AS effective_on, bool_or(told_by = 'submissions') AS in_submissions,
            list(evidence ORDER BY evidence) AS evidence_ids
        FROM universe_events
        WHERE $ciks IS NULL OR list_contains($ciks::VARCHAR[], cik)
        GROUP BY cik, accession_no, event
    ),
    seen AS (
        SELECT
            *, struct_pack(available_at, accession_no) AS place,
            (available_at AT TIME ZONE 'America/New_York')::DATE AS public_on,
            event IN ('registered', 'listed', 'reported') AS lives,
            event = 'reported' AND in_submissions AND form_type LIKE '10-%' AS reports_at_home
        FROM filed
    ),
    ordered AS (
        SELECT
            *,
            -- A company that delists common equity gives notice on Form 8-K (item 3.01), but not if notes mature. The
            -- absence of a notice is known if submissions cover the year before, and show a report after the removal.
            common_equity IS NULL
            AND max(public_on) FILTER (reports_at_home) OVER company > effective_on
            AND min(available_at) FILTER (in_submissions) OVER company <= available_at - INTERVAL 365 DAY
            AND NOT bool_or(event = 'notified') OVER around AS of_no_equity,
            event = 'delisted' AND common_equity IS DISTINCT FROM false
            AND of_no_equity IS DISTINCT FROM true AS removes,
            -- A class listed elsewhere in the month before has moved rather than ended.
            coalesce(
                available_at > max(available_at) FILTER (event = 'listed') OVER company + INTERVAL 30 DAY, true
            ) AS after_listing
        FROM seen
        WINDOW
            company AS (PARTITION BY cik),
            around AS (
                PARTITION BY cik ORDER BY available_at
                RANGE BETWEEN INTERVAL 365 DAY PRECEDING AND INTERVAL 30 DAY FOLLOWING
            )
    ),
    companies AS (
        SELECT
            cik, max(available_at) AS available_at, max(available_at_source) AS available_at_source,
            arg_max(company_name, place) AS company_name,
            max(available_at) FILTER (company_name IS NOT NULL) AS named_at,
            arg_max(exchange, place) FILTER (event IN ('listed', 'delisted')) AS exchange,
            min(available_at) AS since,
            max(available_at) FILTER (lives) AS lives_at,
            max(public_on) FILTER (event = 'reported') AS reported_on,
            bool_or(event = 'notified') AS notified,
            max(available_at) FILTER (event = 'listed') AS listed_at,
            arg_max(
                ordered, struct_pack(after_listing, equity := coalesce(common_equity, false), place)
            ) FILTER (removes) AS removal,
            arg_max(ordered, place) FILTER (event = 'deregistered') AS ending,
            arg_max(ordered, place) FILTER (event = 'renamed') AS renaming,
            flatten(list(evidence_ids ORDER BY place)) AS evidence_ids
        FROM ordered
        GROUP BY cik
    ),
    named AS (
        SELECT
            companies.* REPLACE (
                coalesce(borne.name, companies.company_name) AS company_name,
                greatest(companies.available_at, borne.available_at) AS available_at,
                CASE WHEN borne.evidence IS NULL THEN evidence_ids ELSE list_append(evidence_ids, borne.evidence) END
                    AS evidence_ids
            )
        FROM companies
        LEFT JOIN names AS borne ON
            borne.cik = companies.cik AND borne.kind = 'company_name'
            AND borne.available_at >= coalesce(companies.named_at, borne.available_at)
    ),
    judged AS (
        SELECT
            *,
            (as_of() AT TIME ZONE 'America/New_York')::DATE AS today,
            coalesce(removal.after_listing AND removal.effective_on <= today, false) AS gone,
            CASE
                WHEN NOT gone THEN removal IS NOT NULL OR listed_at IS NOT NULL
                WHEN removal.common_equity THEN false
            END AS listed,
            -- A Form 15 under section 15(d) alone ends nothing if an exchange lists a class of the company.
            ending IS NOT NULL AND ending.available_at >= coalesce(lives_at, since) AND ending.effective_on <= today
            AND NOT (ending.form_type LIKE '%15D' AND coalesce(listed, false)) AS ended
        FROM named
    )
SELECT
    available_at, available_at_source, cik, company_name,
    CASE
        -- An exchange lists a class under 12(b); the class that ends under 12(g) may be another one.
        WHEN ended AND listed AND ending.form_type LIKE '%12G' THEN 'uncertain'
        WHEN ended THEN 'deregistered'
        WHEN gone AND listed IS NULL AND reported_on > removal.effective_on THEN 'registered'
        WHEN gone AND listed IS NULL THEN 'uncertain'
        WHEN gone THEN 'delisted'
        WHEN listed THEN 'listed'
        WHEN lives_at IS NOT NULL OR notified THEN 'registered'
        ELSE 'offered'
    END AS status,
    exchange, since, listed_at,
    removal.available_at AS delisting_filed_at, removal.effective_on AS delisting_effective_on,
    removal.security_class AS security_class, removal.rule_provision AS rule_provision,
    ending.available_at AS deregistration_filed_at, ending.effective_on AS deregistration_effective_on,
    renaming.available_at AS renamed_at, renaming.former_name AS former_name, evidence_ids
FROM judged
WHERE list_contains($statuses::VARCHAR[], status)
ORDER BY cik
