"""Servers for tests: `server` speaks SQLI by rules over SQLite in memory, `replay` speaks recorded transcripts, `proxy`
damages what passes through it. They share no code with the driver, so that both cannot be wrong in the same way."""
