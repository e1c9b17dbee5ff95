-- The order of preference among sources of daily bars: the least first. It depends on the source alone, so that nothing
-- which comes later changes it.
CREATE MACRO bar_rank(source) AS list_position(['prices', 'own_bars', 'av_daily_bars'], source);
