"""Provider `web`: dated pages and search results that the lake holds; prose that retells outcomes is not among them."""

from forge.providers.base import Asking

PROVIDER = Asking("web", "Web pages and search results of the lake, by words.", {"search": "web_search"})
