"""Version of the SDK, the same as in pyproject.toml (a test compares them)."""

VERSION = "0.1.0"
