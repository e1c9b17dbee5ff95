-- title: What the lake contains
-- reads: prices
SELECT dataset, rows, watermark FROM lake_info ORDER BY dataset
