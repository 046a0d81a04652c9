"""A scenario as the engine resolves it, typed: every default is written out, names of components are tables.

Made from the engine's declarations by `make reference`; do not edit. A quantity is a text with its unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

from playpath.scenario.document import (
    Choice,
    DelayedAck,
    Jitter,
    Manifest,
    Outage,
    Pacing,
    Player,
    Rebinding,
    Reordering,
    Run,
    TrafficRtt,
    Verdict,
    Video,
    Viewer,
    Wifi,
)

__all__ = [
    "Choice",
    "DelayedAck",
    "Direction",
    "Document",
    "Jitter",
    "Link",
    "Manifest",
    "Origin",
    "Outage",
    "Pacing",
    "Path",
    "Player",
    "Rebinding",
    "Reordering",
    "Run",
    "Sender",
    "Tcp",
    "Traffic",
    "TrafficRtt",
    "Up",
    "Verdict",
    "Video",
    "Viewer",
    "Wifi",
]


class Document(TypedDict, total=False):
    """What is played over which network by which senders."""

    name: str
    """Label in reports."""

    description: str | None
    """A sentence for the reader of a report."""

    video: Video | None
    """What is played: a file, a manifest, or a stated rate and duration. Without it there is cross traffic
    alone."""

    player: Player | None
    """What plays the video, with its parameters (`playpath list player`). Needs [video]."""

    viewer: Viewer | None
    """Who watches: seeks, and leaving before the end. Holds for competing video sessions, too, each with draws of
    its own."""

    origin: Origin | None
    """What serves the segments: a cache that misses, errors, silence, hosts to turn to. Needs `player.kind` =
    "dash"."""

    link: Sequence[Link]
    """A link that several paths share, named in their `via`. Its keys describe the way to the client."""

    path: Sequence[Path]
    """A path between server and client; at least one. Its keys describe the way to the client, `up` the way
    back."""

    sender: Sequence[Sender]
    """What serves the video: a congestion control and the habits of its transport. One is played after the other,
    on the same paths."""

    traffic: Sequence[Traffic]
    """A group of equal sources of cross traffic. It has the keys of a sender, too."""

    run: Run
    """How long, how often, with which packets."""

    verdict: Verdict | None
    """By what senders are ranked."""

    choice: Sequence[Choice]
    """What is compared besides senders, as `--vary` does: values of a setting, combined with those of others, for
    every sender."""


class Tcp(TypedDict, total=False):
    """The keys of TCP."""

    profile: Literal["linux", "ns2", "rfc"]
    """Stack whose habits the endpoints have."""

    mss: int
    """Payload of a full packet, without headers and options."""

    initial_window: int
    """Congestion window at the start."""

    validation: Literal["none", "rfc2861", "newcwv", "newcwv_2013"]
    """Congestion window validation."""

    pacing: Literal["off", "linux", "controller"] | Pacing
    """Pacing, or a gain of one's own."""

    sack: bool
    """Selective acknowledgements."""

    timestamps: bool
    """TCP timestamps."""

    ecn: bool
    """Explicit congestion notification."""

    delayed_ack: DelayedAck | Literal["off", "rfc5681", "linux"]
    """When the client acknowledges, or the longest wait of a client that waits for a second packet."""

    loss_detection: Literal["rack_tlp", "rfc6675", "newreno", "newreno_steady", "reno", "ns2_vegas"]
    """How the sender finds losses."""

    recovery: Literal["prr", "rfc6675", "newreno"]
    """How the window moves during fast recovery."""

    limited_transmit: bool
    """New packets on the first two duplicate ACKs (RFC 3042)."""

    rto_min: str
    """Smallest retransmission timeout."""

    send_buffer: str
    """What the server's socket holds, sent or not."""

    receive_buffer: str
    """What the client's socket holds: the receive window."""

    window_tuning: bool
    """The client's receive window begins small and grows with what is read, up to `receive_buffer` (Linux's
    tcp_moderate_rcvbuf)."""

    max_burst: int | None
    """Most packets that one event may release."""

    tls: Literal["none", "full", "resumed", "early_data"]
    """TLS 1.3 in the stream: round trips and sizes of its handshake, and its records. A comparison of transports
    has `full`."""


class Sender(Tcp, total=False):
    """What serves the video: a congestion control and the habits of its transport. One is played after the other, on the same paths."""

    name: str
    """Unique label."""

    cc: Mapping[str, Any]
    """Congestion control, with its parameters (`playpath list cc`). Traffic without one has, in a scenario without
    a video, that of the sender which is compared."""

    paths: Sequence[str]
    """Paths that it may use; over several it is MPTCP."""

    scheduler: Mapping[str, Any]
    """MPTCP scheduler, with its parameters (`playpath list scheduler`); by default that of stock kernels. Over one
    path it has no say."""

    abr: Mapping[str, Any] | str | None
    """Adaptation rule of this sender's viewers (`playpath list abr`), in place of the player's."""

    notsent_lowat: str | None
    """Most unsent bytes that the video's server leaves in the socket (TCP_NOTSENT_LOWAT). Priorities do not change
    the order of what is in the socket."""

    transport: Mapping[str, Any]
    """Transport, or a table with its keys; those may also stand beside it, without a table."""

    handover: Literal["none", "migrate", "reconnect"]
    """What the connections of a video do when the path in use has an outage. They begin on the first of `paths`."""

    handover_after: str
    """So long after an outage began the client's system notices it: with `handover` it takes the next path, without
    it new connections over several paths begin on the next one."""


class Traffic(Sender, total=False):
    """A group of equal sources of cross traffic. It has the keys of a sender, too."""

    kind: Required[Literal["bulk", "web", "frames", "udp", "video"]]
    """Which kind of traffic."""

    count: int
    """Number of sources."""

    start: str
    """Start of the earliest, since the start of the run."""

    start_spread: str
    """Each source starts at `start` plus a random share of this."""

    start_law: Literal["uniform", "rising", "falling"]
    """How the starts lie in `start_spread`: a flash crowd rises or falls."""

    stop: str | None
    """End of all, since the start of the run; after `start`."""

    rtt: TrafficRtt | str
    """Round trip of each source on top of the path's, or a table to draw it from."""

    think_time: str
    """Mean of the exponential time from an object to the next request."""

    inter_arrival: str | None
    """Mean of the exponential time from request to request; instead of `think_time`."""

    mean_size: str
    """Mean size of an object (Boyden et al. 2006, section 4.3)."""

    shape: float
    """Shape of the Pareto distribution of sizes."""

    rate: str
    """Mean rate of the pictures."""

    fps: float
    """Pictures per second."""

    size_sd: str
    """Standard deviation of a picture's size, as a share of the mean."""

    packet_bytes: int
    """Size of a datagram with its headers."""

    on: str | None
    """Mean length of the exponential periods in which it sends; with `off`."""

    off: str | None
    """Mean length of the periods between; with `on`."""

    field: Literal["not_ect", "ect0", "ect1"]
    """ECN field of its packets."""


class Direction(TypedDict, total=False):
    """One direction of a path or shared link: `[[path]]` and `[[link]]` describe the way to the client, their `up` the way back."""

    rate: str | None
    """Rate of the link, headers included. Excludes `trace` and `wifi`."""

    burst: str | None
    """Depth of a token bucket (tc-tbf): after a pause so much leaves at once, and no more than `rate` in the long
    run."""

    trace: Mapping[str, str] | str | None
    """A file of rates or delivery opportunities over time, in any format of `playpath list trace`; it repeats."""

    wifi: Wifi | None
    """An 802.11 hop instead of a rate: backoff, retries, rate adaptation, aggregates, other stations. Excludes
    `rate` and `trace`."""

    start: str
    """Where in the trace a session begins: a time, or "random", the same moment for every sender. Needs `trace`."""

    loss: Mapping[str, Any] | str
    """Random loss: a share of the packets, each by itself, or a loss model with its parameters (`playpath list
    loss`)."""

    loss_place: Literal["before_queue", "after_queue"]
    """Where random loss strikes."""

    ecn: Literal["kept", "bleached", "ect1_to_ect0", "ect0_to_ect1"]
    """What becomes of the ECN field here, before the queue sees the packet."""

    mtu: str | None
    """Packets of more bytes are lost, headers included, and nobody is told."""

    corruption: str
    """Share of the packets that take their time on the link and that no receiver accepts."""

    queue: Mapping[str, Any]
    """Queue in front of the link: a limit of tail drop, a name, or a table of `kind` and parameters (`playpath list
    queue`)."""

    jitter: Jitter | str | None
    """Random change of the delay, packet by packet: uniform up to this much more or less, or a table. Never
    reorders."""

    reordering: Reordering | None
    """Packets that overtake: some are held back while later ones pass."""


class Up(Direction, total=False):
    """The way from the client to the server: acknowledgements and requests."""


class Link(Direction, total=False):
    """A link that several paths share, named in their `via`. Its keys describe the way to the client."""

    name: str
    """What `via` calls it; unique."""

    rtt: str
    """Round trip that it adds, half of it each way."""

    up: Up
    """The way from the client to the server: acknowledgements and requests."""


class Path(Direction, total=False):
    """A path between server and client; at least one. Its keys describe the way to the client, `up` the way back."""

    name: str
    """What reports and `paths` call it; unique."""

    rtt: Required[str]
    """Base round-trip time, without queueing and without shared links; half of it each way."""

    via: Sequence[str]
    """Shared links between the server and the path's own link, from the server on."""

    rebinding: Rebinding | None
    """A NAT on the path gives the client another port: packets for the one before are lost, and a TCP server
    resets."""

    outage: Outage | None
    """A time in which the path's own link loses everything, both ways."""

    up: Up
    """The way from the client to the server: acknowledgements and requests."""


class Origin(TypedDict, total=False):
    """What serves the segments: a cache that misses, errors, silence, hosts to turn to. Needs `player.kind` = "dash"."""

    misses: str
    """Share of segments that the cache must fetch first."""

    miss_delay: str
    """How much later their first byte comes."""

    law: Literal["fixed", "exponential"]
    """How long a miss takes."""

    errors: str
    """Share of requests that are answered by an error."""

    hangs: str
    """Share of requests that are never answered."""

    down: Sequence[Any]
    """From when to when, since the start of the run, the first host answers with errors only."""

    hosts: int
    """Hosts with the same segments that the player may turn to."""
