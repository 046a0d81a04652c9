"""Play sessions: one, or each sender with each seed, in any world; tune parameters; controls and rules of one's own."""
