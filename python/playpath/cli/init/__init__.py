"""A scenario of one's own: answers to a few questions, written as commented TOML (`playpath init`)."""
