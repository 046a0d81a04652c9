"""Translates a resolved sender for the kernel: a control with parameters, sysctls, and attributes of the route."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from playpath.base import engine
from playpath.base.declared import Scalar
from playpath.base.engine import number
from playpath.base.errors import InputError
from playpath.real.testbed.bed import IP_AND_TCP_HEADER
from playpath.real.testbed.errors import UnsupportedError
from playpath.scenario import Scenario, load, resolved

_TRUESIZE = 2350
"""Receive-buffer bytes that Linux charges for a packet of up to 1500 bytes from a TUN device; measured (6.18: 2332 to 2370)."""
_MAX_BUFFER = 1 << 26
"""64 MB, enough for 1 Gbit/s at half a second. Larger values mean "no limit" in a scenario, but would use real memory here."""
_SWITCHES = {"sack": "net.ipv4.tcp_sack", "timestamps": "net.ipv4.tcp_timestamps", "ecn": "net.ipv4.tcp_ecn"}
_TIMESTAMP_BYTES = 12
MSS = 1448
"""Payload of a 1500-byte packet with timestamps."""
_CARRIED = ("name", "cc", "profile", "mss", "validation", "pacing", "paths", "scheduler")
_MAPPED = (*_CARRIED, *_SWITCHES, "initial_window", "rto_min", "send_buffer", "receive_buffer")


@dataclass(frozen=True)
class Sending:
    """A scenario's sender on the kernel."""

    cc: str
    """The control's name in the registry: `reno` is the kernel's own, `bpf:vegas` is ours."""
    parameters: dict[str, Scalar]
    """The control's parameters that differ from its defaults."""
    sysctls: dict[str, str]
    warnings: list[str]
    """Settings of the scenario that Linux does not support."""
    takes: tuple[str, ...] = ()
    """Further parameters of the control, which the application or the test bed sets."""
    client_sysctls: dict[str, str] = field(default_factory=dict)
    """`sysctls` and `client_sysctls` are for the server's and the client's namespace."""
    route: tuple[str, ...] = ()
    """Attributes of the server's routes to the client."""


def translate(sender: resolved.Sender) -> Sending:
    """Translate a resolved sender. UnsupportedError if its control cannot run on the kernel."""
    validation = sender.get("validation", "rfc2861")
    try:
        found = engine.kernel_control(sender["cc"], validation)
    except InputError as error:
        raise UnsupportedError(str(error)) from None
    warnings: list[str] = []
    sysctls = {"net.ipv4.tcp_slow_start_after_idle": str(int(validation == "rfc2861"))}
    parameters, takes = dict(found["settings"]), tuple(found["takes"])
    pacing = sender.get("pacing", "off")
    if isinstance(pacing, Mapping):
        percent = str(round(100 * float(pacing["gain"])))
        sysctls |= {"net.ipv4.tcp_pacing_ss_ratio": percent, "net.ipv4.tcp_pacing_ca_ratio": percent}
    if "pacing" in takes:
        parameters["pacing"] = pacing != "off"
    elif "pacing_gain" in takes and isinstance(pacing, Mapping):
        parameters["pacing_gain"] = float(pacing["gain"])
    elif pacing not in ("off", "controller"):
        warnings.append(f"{_name(sender)} cannot be paced from outside the control on this kernel: it ran unpaced")
    warnings += _not_mapped(sender, found["habits"])
    if lowat := sender.get("notsent_lowat"):
        sysctls["net.ipv4.tcp_notsent_lowat"] = str(round(number(lowat)))
    both = _both_ends(sender)
    return Sending(
        found["control"], parameters, sysctls | both, warnings, takes, both | _window(sender), _route(sender)
    )


def of_the_client(sender: resolved.Sender) -> dict[str, str]:
    """Sysctls of the client for a server that implements all settings of a sender itself, as our own does."""
    return _both_ends(sender) | _window(sender)


def _name(sender: resolved.Sender) -> str:
    return str(sender["cc"]["name"])


def _both_ends(sender: resolved.Sender) -> dict[str, str]:
    """TCP options, which both ends must agree on."""
    asked: Mapping[str, Any] = sender
    return {sysctl: str(int(bool(asked[key]))) for key, sysctl in _SWITCHES.items() if key in asked}


def payload_of(sender: resolved.Sender) -> int:
    """Payload bytes of a full packet."""
    return min(int(sender.get("mss") or MSS), MSS)


def header_of(sender: resolved.Sender) -> int:
    """Bytes of IPv4 and TCP headers of a full packet. Without timestamps Linux would fill their place with payload."""
    return IP_AND_TCP_HEADER - (0 if sender.get("timestamps", True) else _TIMESTAMP_BYTES)


def _window(sender: resolved.Sender) -> dict[str, str]:
    """The client's receive buffer: Linux's window is only the part of it that payload can fill, the simulator's is all of it."""
    if "receive_buffer" not in sender:
        return {}
    most = round(min(max(number(sender["receive_buffer"]) * _TRUESIZE / payload_of(sender), 4096.0), _MAX_BUFFER))
    return {"net.ipv4.tcp_rmem": f"4096 {min(131072, most)} {most}"}


def _route(sender: resolved.Sender) -> tuple[str, ...]:
    words: list[str] = []
    if "initial_window" in sender:
        words += ["initcwnd", str(sender["initial_window"])]
    if "rto_min" in sender:
        words += ["rto_min", f"{max(round(number(sender['rto_min']) * 1000), 1)}ms"]
    return tuple(words)


def _not_mapped(sender: resolved.Sender, habits: Mapping[str, Any]) -> list[str]:
    """A warning that names every setting that differs from Linux's behaviour and has no counterpart here."""
    # A resolved sender has the last two only if they differ from the profile's.
    linux: dict[str, Any] = {**_usual(_name(sender)), "delayed_ack": "linux", "window_tuning": True, "tls": "none"}
    if sender.get("sack") is False:
        linux["loss_detection"] = "newreno"  # what Linux does without SACK (RFC 6582)
    # A traffic source is a sender with additional settings (`kind`, `start`, …), which are not settings of a sender.
    here = {key: value for key, value in linux.items() if key not in _MAPPED}
    # A web server does not keep to a small send buffer: nginx filled several times tcp_wmem (docs/manual/kernel.md).
    if number(sender.get("send_buffer", linux["send_buffer"])) < number(linux["send_buffer"]):
        here["send_buffer"] = linux["send_buffer"]
    cc = {f"cc.{key}": value for key, value in habits.items()}
    asked = {**sender, **cc}
    return without_effect("no counterpart in the kernel world", asked, here | dict.fromkeys(cc) | largest(sender))


def largest(sender: resolved.Sender) -> dict[str, object]:
    """The largest `mss`, for a sender with a larger one: that of a packet of 1500 bytes."""
    return {"mss": MSS} if int(sender.get("mss") or 0) > MSS else {}


def without_effect(why: str, asked: Mapping[str, Any], here: Mapping[str, object]) -> list[str]:
    """A warning that names the settings that differ from what is in force.

    Args:
        why: The reason, which begins the warning.
        asked: The scenario's settings.
        here: Keys that are not honoured, with the values that are in force.
    """
    differing = {key: asked[key] for key, value in here.items() if key in asked and asked[key] != value}
    ignored = ", ".join(f"{key} = {_text(value)}" for key, value in differing.items())
    return [f"{why}, so without effect: {ignored}"] if ignored else []


_FOR_ALL_FLOWS = {
    "net.ipv4.tcp_slow_start_after_idle": "validation",
    "net.ipv4.tcp_pacing_ss_ratio": "pacing",
    "net.ipv4.tcp_notsent_lowat": "notsent_lowat",
    **{sysctl: key for key, sysctl in _SWITCHES.items()},
}
"""Sysctls, which a namespace has once → keys of a scenario."""


def of_other_flows(source: resolved.Traffic, sending: Sending, video: resolved.Sender) -> list[str]:
    """Keys of cross traffic that a real world has once for all flows, and whose values are others'."""
    sysctls = translate(source).sysctls
    keys = [key for sysctl, key in _FOR_ALL_FLOWS.items() if sysctls.get(sysctl) != sending.sysctls.get(sysctl)]
    own = source.get("receive_buffer")
    if own != video.get("receive_buffer", own):
        keys.append("receive_buffer")
    return [*keys, "mss"] if payload_of(source) > payload_of(video) else keys


@cache
def _usual(cc: str) -> resolved.Sender:
    """The sender that `cc` alone resolves to, with Linux's profile."""
    return _resolved({"cc": cc})


@cache
def usual_quic(stack: str, client: str) -> Mapping[str, Any]:
    """The transport that the names of both ends alone resolve to."""
    return _resolved({"cc": "cubic", "transport": {"name": "quic", "stack": stack, "client": client}})["transport"]


def _resolved(sender: Mapping[str, object]) -> resolved.Sender:
    path = {"rate": "1 Mbit/s", "rtt": "10 ms"}
    found: Scenario = load({"path": [path], "traffic": [{"kind": "bulk"}], "sender": [sender]})
    return found.sender(found.senders[0])


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_text(of)}' for key, of in value.items())} }}"
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


_OF_THE_VIDEO = {
    "pob_bytes": "playout_buffer_bytes",
    "video_kbps": "video_kbps",
    "object_bytes": "object_bytes",
    "object_ms": "object_ms",
}
"""A control's parameters about the video → the name of the described figure."""


def of_the_video(sending: Sending, described: Mapping[str, float]) -> dict[str, Scalar]:
    """The control's parameters about the video, set at the start as in the simulator."""
    parameters: dict[str, Scalar] = {
        key: round(described[source])
        for key, source in _OF_THE_VIDEO.items()
        if key in sending.takes and source in described
    }
    if "report" in sending.takes and "object_bytes" in parameters:
        # A single file has a single rate, and these figures count as a first report.
        parameters |= {"top_kbps": parameters["video_kbps"], "report": 1}
    return parameters
