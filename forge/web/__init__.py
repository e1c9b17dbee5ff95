"""The desk's pages."""
from pathlib import Path
from pitlake.web.app import Room
room = Room("Desk", (), Path(__file__).with_name("templates"), lambda templates: ())
