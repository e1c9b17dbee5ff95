"""The tests, as a package so that campaigns can import what several of them share."""
