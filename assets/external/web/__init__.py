"""Web pages that contain their own dates, from an explicit list of sources.

`_sources` is the list, `_claims` defines and proves claims, `_markup` finds claims in HTML and headers, and `web_pages`
is the dataset.
"""
