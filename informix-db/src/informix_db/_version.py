"""The version, in this one place: the year and month of the release, and its number in the month (CalVer)."""

__version__ = "2026.11.0"
