"""Settings, clocks, errors, the tape and skills: what the rest of Forge is built on."""
