"""Walk-forward: a period decided again as of every instant a schedule would have asked, on a memory of its own."""
