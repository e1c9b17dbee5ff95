-- Whether a form is a periodic report: an annual or quarterly report, also for a transition period, or an amendment of
-- one.
CREATE MACRO is_periodic(form_type) AS
coalesce(regexp_full_match(form_type, '(10-K|10-KT|10-K405|10-KSB|10-Q|10-QT|10-QSB|20-F|40-F)(/A)?'), false);
