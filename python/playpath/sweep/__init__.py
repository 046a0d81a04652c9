"""Sweeps: a design is expanded to cells, an executor runs them, a store keeps them, and a table gives the answer.

- `design.py`: axes and points; `cells.py`: stable ids and chunks; `worker.py`: code that runs on workers;
- `store.py`: content-addressed Parquet shards; `executors.py`: local, Ray, Slurm, any `concurrent.futures`;
- `runner.py`: the main loop; `result.py`: the table and the winners.
"""

from playpath.sweep.design import Axis, Design, load_design
from playpath.sweep.result import SweepResult
from playpath.sweep.runner import sweep
from playpath.sweep.store import Store

__all__ = ["Axis", "Design", "Store", "SweepResult", "load_design", "sweep"]
