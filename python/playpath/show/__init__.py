"""For people: the terminal, reports, the explorer."""
