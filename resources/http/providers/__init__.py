"""The providers: one module each with one `PROVIDER`, named as the source. Called by feeds; no client lives here."""
