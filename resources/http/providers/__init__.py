"""The providers: one module per source, named after it, with one `PROVIDER`."""
