"""earningscall.biz. One module per dataset; `_calls` has shared code."""
