"""Results: sessions, comparisons, bands, packets, archives."""
