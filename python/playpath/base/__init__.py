"""What every other room may use: errors, files, quantities, tables, the engine's door, metrics. It needs no other room to start."""
