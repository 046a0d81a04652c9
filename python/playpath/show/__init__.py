"""Output for people: the terminal, reports, the explorer."""
