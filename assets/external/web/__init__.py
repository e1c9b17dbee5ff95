"""Lane 3: pages that date themselves, from an explicit list of sources.

`_sources` is the list, `_claims` what a page may say and what is proven of it, `_markup` finds claims in HTML and
headers, `web_pages` is the dataset.
"""
