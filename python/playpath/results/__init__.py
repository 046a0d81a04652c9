"""What comes out: sessions, comparisons, bands, packets, archives."""
