"""earningscall.biz: one module per dataset; `_calls` has shared code."""
