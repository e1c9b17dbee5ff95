"""The tests. They are a package, so that tests and campaigns can import shared modules."""
