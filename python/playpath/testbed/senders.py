"""What a resolved sender is on the kernel: a control with parameters, sysctls, and attributes of the route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from playpath import engine
from playpath.scenario import load
from playpath.testbed import controls
from playpath.testbed.errors import UnsupportedError
from playpath.testbed.quantities import number

_TWINS = {"newreno": "newcwv", "reno": "newcwv", "cubic": "newcwvcubic"}


_TRUESIZE = 2350
"""Bytes of receive buffer that Linux counts for a packet of up to 1500 bytes out of a TUN device, by measurement (6.18: 2332 to 2370)."""
_MOST_BUFFER = 1 << 26
"""64 MB: 1 Gbit/s at half a second. More is a mere absence of a limit, and would be the machine's memory here."""
_SWITCHES = {"sack": "net.ipv4.tcp_sack", "timestamps": "net.ipv4.tcp_timestamps", "ecn": "net.ipv4.tcp_ecn"}
_CARRIED = ("name", "cc", "profile", "mss", "validation", "pacing", "paths", "scheduler", "multipath")
_MAPPED = (*_CARRIED, *_SWITCHES, "initial_window", "rto_min", "send_buffer", "receive_buffer")


@dataclass(frozen=True)
class Sending:
    """What a sender of a scenario is on the kernel.

    Attributes
    ----------
    cc : str
        Name of the control.
    parameters : dict of str to float
        Of the control.
    sysctls, client_sysctls : dict of str to str
        Of the server's and of the client's namespace.
    route : tuple of str
        Attributes of the server's routes to the client.
    warnings : list of str
        What the scenario asks for and Linux does not do.
    """

    cc: str
    parameters: dict[str, float]
    sysctls: dict[str, str]
    warnings: list[str]
    client_sysctls: dict[str, str] = field(default_factory=dict)
    route: tuple[str, ...] = ()


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
            raise UnsupportedError(f"newcwv on the kernel goes over newreno and cubic, not over {name}")
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
    warnings += _not_mapped(sender, {**given, "name": entry if isinstance(entry, str) else entry["name"]}, parameters)
    both = _both_ends(sender)
    return Sending(name, parameters, sysctls | both, warnings, both | _window(sender), _route(sender))


def _both_ends(sender: Mapping[str, Any]) -> dict[str, str]:
    """TCP options, which both ends must agree on."""
    return {sysctl: str(int(bool(sender[key]))) for key, sysctl in _SWITCHES.items() if key in sender}


def send_buffer_warning(sender: Mapping[str, Any]) -> list[str]:
    """A web server's socket is not held to a small send buffer: nginx was seen to fill several times tcp_wmem (docs/kernel.md)."""
    asked = sender.get("send_buffer")
    if asked is None or number(asked) >= number(_usual("cubic")["send_buffer"]):
        return []
    return [f'no counterpart in the kernel world over one connection, so not in force: send_buffer = "{asked}"']


def _window(sender: Mapping[str, Any]) -> dict[str, str]:
    """The client's receive buffer: Linux offers the part of it that payload takes, the simulator all."""
    if "receive_buffer" not in sender:
        return {}
    payload = min(int(sender.get("mss") or 1448), 1448)
    most = round(min(max(number(sender["receive_buffer"]) * _TRUESIZE / payload, 4096.0), _MOST_BUFFER))
    return {"net.ipv4.tcp_rmem": f"4096 {min(131072, most)} {most}"}


def _route(sender: Mapping[str, Any]) -> tuple[str, ...]:
    words: list[str] = []
    if "initial_window" in sender:
        words += ["initcwnd", str(sender["initial_window"])]
    if "rto_min" in sender:
        words += ["rto_min", f"{max(round(number(sender['rto_min']) * 1000), 1)}ms"]
    return tuple(words)


def _not_mapped(sender: Mapping[str, Any], cc: Mapping[str, Any], taken: Mapping[str, float]) -> list[str]:
    """A warning that names every setting that differs from what Linux does and has no counterpart here."""
    usual = dict(_usual(str(cc["name"])))
    if sender.get("sack") is False:
        usual["loss_detection"] = "newreno"  # what Linux does without SACK (RFC 6582)
    # A source of traffic is a sender with settings of its own besides (`kind`, `start`, …), which are no sender's.
    asked = [(key, sender[key]) for key in usual if key not in _MAPPED and sender.get(key, usual[key]) != usual[key]]
    asked += [
        (f"cc.{key}", value)
        for key, value in cc.items()
        if key not in taken and value != usual["cc"].get(key) and not (key == "recovery" and "freeze" in taken)
    ]
    if int(sender.get("mss") or 0) > 1448:
        asked.append(("mss", sender["mss"]))
    told = ", ".join(f"{key} = {_text(value)}" for key, value in asked)
    return [f"no counterpart in the kernel world, so not in force: {told}"] if told else []


@cache
def _usual(cc: str) -> Mapping[str, Any]:
    """The sender that `cc` alone resolves to under the profile of Linux."""
    path = {"rate": "1 Mbit/s", "rtt": "10 ms"}
    is_simulators = cc in {entry["name"] for entry in engine.registry("cc")}
    sender = {"cc": cc} if is_simulators else {}  # newcwv is a control of its own only here
    found = load({"path": [path], "traffic": [{"kind": "bulk"}], "sender": [sender]})
    resolved = found.sender(found.senders[0])
    return resolved if is_simulators else {**resolved, "cc": {}}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


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
