-- title: What the lake holds
-- reads: prices
SELECT dataset, rows, watermark FROM lake_info ORDER BY dataset
