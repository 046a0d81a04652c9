"""Sweeps: a design becomes cells, an executor runs them, a store keeps them, a table answers.

- `design.py`: axes and points; `cells.py`: stable ids and chunks; `worker.py`: what runs elsewhere;
- `store.py`: content-addressed Parquet shards; `executors.py`: local, Ray, Slurm, any `concurrent.futures`;
- `runner.py`: the loop between them; `result.py`: the table and who wins where.
"""

from playpath.sweep.design import Axis, Design, load_design
from playpath.sweep.result import SweepResult
from playpath.sweep.runner import sweep
from playpath.sweep.store import Store

__all__ = ["Axis", "Design", "Store", "SweepResult", "load_design", "sweep"]
