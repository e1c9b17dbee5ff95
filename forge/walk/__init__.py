"""Walk-forward runs: a period decided again as of every scheduled instant, on a separate memory."""
