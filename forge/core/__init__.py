"""The base of Forge: settings, clocks, errors, the tape and skills."""
