-- reads: news
-- The rows of the view `news` about one company, or all rows if the ticker is null.
CREATE MACRO news_of(wanted) AS TABLE
FROM news
WHERE has_label(wanted, tickers) AND is_about(wanted, NULL, tickers, available_at);
