"""The providers: one module each with one `PROVIDER`, named as the source. No client lives here."""
