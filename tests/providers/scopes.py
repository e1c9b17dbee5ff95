"""The scope of each feed in the tests of the providers, which the bundled answers can answer."""

from assets.external import all_feeds

SCOPES = {name: feed.example for name, feed in all_feeds().items()}
