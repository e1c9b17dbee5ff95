-- title: News
-- reads: news, benzinga_news
SELECT source AS dataset, id, title, created, available_at, available_at_source, evidence
FROM articles_of($company)
ORDER BY available_at DESC, id DESC
