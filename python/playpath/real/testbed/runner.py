"""`--world kernel` and `--world wire`: one session of a resolved scenario on the real kernel, as a record in the simulator's schema."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import platform
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from playpath.base import engine
from playpath.base.engine import number
from playpath.base.errors import RunError
from playpath.base.files import write_text
from playpath.base.manifest import RunManifest
from playpath.real.testbed import crosstraffic, namespaces, players, signalling
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.carriers import Carried, Carrier, KernelMptcp, OverRelay, Tcp, VideoAddress
from playpath.real.testbed.crosstraffic import ORIGIN_PORT, CrossTraffic
from playpath.real.testbed.errors import TestbedError, UnsupportedError
from playpath.real.testbed.plan import FILE, Plan
from playpath.real.testbed.players import Played, Player, Scene
from playpath.real.testbed.players.own import program as client
from playpath.real.testbed.players.scene import describe_ladder
from playpath.real.testbed.records import Columns, InvalidLinkError, Measured, record
from playpath.real.testbed.sampling import INTERVAL, Sampler
from playpath.real.testbed.senders import Sending, of_the_video, translate
from playpath.real.testbed.server import PORT
        signalling.check(scenario, player, self._carrier.world, len(self.used))
        if player.name == "ngtcp2" and not isinstance(self._carrier, WireQuic):
            raise UnsupportedError('ngtcp2 speaks QUIC only: give the sender transport = "quic", in the world wire')
