"""What a resolved sender is on the kernel: a control with parameters, sysctls, and attributes of the route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playpath.testbed import controls
from playpath.testbed.errors import TestbedError

_TWINS = {"newreno": "newcwv", "reno": "newcwv", "cubic": "newcwvcubic"}


@dataclass(frozen=True)
class Sending:
    """What a sender of a scenario is on the kernel."""

    cc: str
    parameters: dict[str, float]
    sysctls: dict[str, str]
    warnings: list[str]


def translate(sender: Mapping[str, Any]) -> Sending:
    """The kernel control, its parameters and the namespace's sysctls for a resolved sender."""
    entry = sender["cc"]
    name, given = (
        (entry, {}) if isinstance(entry, str) else (entry["name"], {k: v for k, v in entry.items() if k != "name"})
    )
    warnings: list[str] = []
    sysctls = {"net.ipv4.tcp_slow_start_after_idle": "0"}
    validation = sender.get("validation", "rfc2861")
    if validation == "rfc2861":
        sysctls["net.ipv4.tcp_slow_start_after_idle"] = "1"
    elif validation == "newcwv":
        if name not in _TWINS:
            raise TestbedError(f"newcwv on the kernel goes over newreno and cubic, not over {name}")
        name = _TWINS[name]
    parameters = _parameters(name, given)
    pacing = sender.get("pacing", "off")
    if isinstance(pacing, Mapping):
        percent = str(round(100 * float(pacing["gain"])))
        sysctls |= {"net.ipv4.tcp_pacing_ss_ratio": percent, "net.ipv4.tcp_pacing_ca_ratio": percent}
    if name.startswith("newcwv"):
        parameters["pacing"] = 0.0 if pacing == "off" else 1.0
    elif name.startswith("ccp") and isinstance(pacing, Mapping):
        parameters["pacing_gain"] = float(pacing["gain"])
    elif pacing not in ("off", "controller"):
        warnings.append(f"{name} cannot be paced from outside on this kernel: it ran unpaced")
    return Sending(name, parameters, sysctls, warnings)


def _parameters(name: str, given: Mapping[str, Any]) -> dict[str, float]:
    """The scenario's parameters in the words of the kernel twin: those that it takes."""
    if controls.native_name(name) is not None:
        return {}
    numbers = {key: float(value) for key, value in given.items() if isinstance(value, int | float)}
    if given.get("recovery") == "freeze":
        numbers["freeze"] = 1.0
    taken = {p["name"]: p["default"] for p in controls.loadable().get(name, {"params": []})["params"]}
    return {key: value for key, value in numbers.items() if key in taken}


def of_the_video(cc: str, described: Mapping[str, float]) -> dict[str, float]:
    """What the CCP family is told of the video, as the simulator tells it at the start."""
    if cc == "ccplb" and described:
        return {"pob_bytes": float(described["playout_buffer_bytes"])}
    if cc == "ccplca" and described:
        return {"video_kbps": float(described["video_kbps"])}
    return {}
