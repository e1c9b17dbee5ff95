"""SQL as data: views/ (one file a dataset), queries/ (the named catalogue) and what they share. No Python lives here.

Read through importlib.resources by pitlake; being a package makes every build backend ship the files.
"""
