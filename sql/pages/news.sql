-- title: News
-- reads: news
SELECT id, title, created, available_at, available_at_source, evidence
FROM news_of($company)
ORDER BY available_at DESC, id DESC
