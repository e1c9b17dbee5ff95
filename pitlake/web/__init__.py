"""The web pages: what was public at an instant, for people.

Each page shows the answers of one sealed session, so it contains nothing later. `pool` keeps sessions, `address` parses
URLs, `questions` has the page questions, `company` answers them for a company, `formatting` formats numbers and
instants, `pages` has the pages, `guard` checks access, `app` assembles them, `serve` listens.
"""
