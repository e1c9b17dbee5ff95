-- reads: news
-- What the view `news` holds about one company, or about all when the ticker is null.
CREATE MACRO news_of(wanted) AS TABLE
FROM news
WHERE is_about(wanted, NULL, tickers, available_at);
