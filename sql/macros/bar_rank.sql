-- The order of preference among sources of daily bars; the lowest number is preferred. It depends only on the source,
-- so that later data can't change it.
CREATE MACRO bar_rank(source) AS list_position(['prices', 'own_bars', 'av_daily_bars'], source);
