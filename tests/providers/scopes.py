"""The scope of each feed in the provider tests. The bundled responses cover these scopes."""

from assets.external import all_feeds

SCOPES = {name: feed.example for name, feed in all_feeds().items()}
