"""Real networks: the test bed, the comparison of both worlds, and checks of what this machine can run."""
