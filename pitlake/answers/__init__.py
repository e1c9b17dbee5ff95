"""What is handed out: envelopes, pages, receipts and exports."""
