"""SQL as data: queries/ (the named catalogue), macros/, and the views/ that do not follow from their contract alone.

views/README.md shows every view. No Python lives here. Being a package makes every build backend ship the files.
"""
