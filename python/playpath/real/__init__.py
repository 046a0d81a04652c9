"""Real networks: the test bed, the comparison of both worlds, what a machine lacks."""
