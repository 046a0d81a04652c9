"""`playpath init`: answers to a few questions, written as a scenario in commented TOML."""
