"""earningscall.biz. One module a dataset; `_calls` holds what they share."""
