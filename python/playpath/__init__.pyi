"""What `playpath` exports, for type checkers; `__init__.py` imports each name when it is first used."""

from playpath import plots as plots
from playpath.base.errors import InputError as InputError
from playpath.base.errors import PlaypathError as PlaypathError
from playpath.base.errors import RunError as RunError
from playpath.papers import StudyResult as StudyResult
from playpath.papers import reproduce as reproduce
from playpath.population import PopulationResult as PopulationResult
from playpath.population import population as population
from playpath.real.twin import Twin as Twin
from playpath.real.twin_run import twin as twin
from playpath.results.comparison import Comparison as Comparison
from playpath.results.record import Session as Session
from playpath.run.compare import compare as compare
from playpath.run.compare import run as run
from playpath.run.sensitivity import sensitivity as sensitivity
from playpath.run.tune import Tuning as Tuning
from playpath.run.tune import tune as tune
from playpath.scenario import Scenario as Scenario
from playpath.scenario import load as load
from playpath.scenario.document import Design as Design
from playpath.scenario.document import Document as Document
from playpath.scenario.document import Link as Link
from playpath.scenario.document import Origin as Origin
from playpath.scenario.document import Path as Path
from playpath.scenario.document import Player as Player
from playpath.scenario.document import Run as Run
from playpath.scenario.document import Sender as Sender
from playpath.scenario.document import Traffic as Traffic
from playpath.scenario.document import Video as Video
from playpath.scenario.document import Viewer as Viewer
from playpath.sweep import SweepResult as SweepResult
from playpath.sweep import sweep as sweep

__version__: str
