"""What each feed is asked for in the tests of the providers: the scope beside it, which the bundled answers answer."""

from assets.external import all_feeds

SCOPES = {name: feed.example for name, feed in all_feeds().items()}
