"""playpath: on this network path, which sender keeps the viewer's video playing?

>>> import playpath
>>> result = playpath.compare("scenarios/wireless.toml", seeds=10)  # doctest: +SKIP
>>> result.verdict  # doctest: +SKIP
"""

from playpath.compare import Comparison, compare, run
from playpath.errors import InputError, PlaypathError, RunError
from playpath.manifest import package_version
from playpath.record import Session
from playpath.scenario import Scenario, load

__version__ = package_version()
__all__ = [
    "Comparison",
    "InputError",
    "PlaypathError",
    "RunError",
    "Scenario",
    "Session",
    "__version__",
    "compare",
    "load",
    "run",
]
