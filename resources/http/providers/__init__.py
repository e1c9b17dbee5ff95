"""The providers: one module each with one `PROVIDER`, named like the source."""
