"""The web pages: what was public at an instant, for a person to look at.

Each page is made of one sealed session's answers, so it holds nothing of what came later. Rooms: `pool` keeps sessions,
`address` parses URLs, `questions` asks, `company` gathers a company, `formatting` writes numbers and instants,
`pages` are the pages, `guard` says who may ask, `app` puts them together, `serve` listens.
"""
