"""Play sessions: one, or every sender with every seed, in any world; tune parameters; run the user's own controls and rules."""
