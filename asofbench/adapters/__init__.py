"""One module per family of systems: how rows are loaded and questions are asked. A module is imported where its systems
are installed.
"""
