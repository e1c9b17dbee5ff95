"""Walk-forward runs: a past period is decided as of every scheduled instant, with a separate memory."""
