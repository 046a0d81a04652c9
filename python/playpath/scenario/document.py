"""The documents as one writes them, typed: made by name, `Path(rate="20 Mbit/s", rtt="50 ms")`.

Made from the engine's declarations by `make reference`; do not edit. A quantity is a text with its unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict


class Normal(TypedDict, total=False):
    """Normal."""

    mean: Required[float | str]
    """Mean."""

    sd: Required[float | str]
    """Standard deviation, in the mean's unit."""


class Lognormal(TypedDict, total=False):
    """Log-normal."""

    median: Required[float | str]
    """Half of the paths have less."""

    sigma: Required[float | str]
    """Standard deviation of the logarithm, without a unit."""


class Distribution(TypedDict, total=False):
    """Where a quantity of a population is drawn from, for each path: one of the five kinds, cut at `min` and `max`."""

    lognormal: Lognormal | None
    """Log-normal."""

    normal: Normal | None
    """Normal."""

    uniform: Sequence[Any] | None
    """Anywhere between two values."""

    log_uniform: Sequence[Any] | None
    """Anywhere between two values above zero, by their ratio."""

    choice: Sequence[Any] | None
    """One of several values."""

    weights: Sequence[Any] | None
    """Of `choice`: how likely each is."""

    min: float | str | None
    """Least; not of `choice`."""

    max: float | str | None
    """Most; not of `choice`."""


class Population(TypedDict, total=False):
    """How many paths and sessions are played, and who the users are."""

    paths: int | None
    """Paths that are drawn."""

    sessions: int
    """Sessions on each path."""

    seed: int
    """Of the draws."""

    users: str | None
    """A table (CSV) with a user a row: settings, weight, groups."""

    group: Sequence[str] | str | None
    """Columns of the index or users' table that results are told by."""

    baseline: str | None
    """Sender that the viewers have today, which the others are held against."""

    complete: bool
    """The links or users are all there are, and no sample of more: a race is about them alone."""


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

    link: Sequence[Link] | None
    """A link that several paths share, named in their `via`. Its keys describe the way to the client."""

    path: Sequence[Path] | None
    """A path between server and client; at least one. Its keys describe the way to the client, `up` the way
    back."""

    sender: Sequence[Sender] | None
    """What serves the video: a congestion control and the habits of its transport. One is played after the other,
    on the same paths."""

    traffic: Sequence[Traffic] | None
    """A group of equal sources of cross traffic. It has the keys of a sender, too."""

    run: Run | None
    """How long, how often, with which packets."""

    verdict: Verdict | None
    """By what senders are ranked."""

    choice: Sequence[Choice] | None
    """What is compared besides senders, as `--vary` does: values of a setting, combined with those of others, for
    every sender."""


class PopulationDocument(Document, total=False):
    """A scenario in which a path's `trace` is a set of files, quantities are distributions, or users have a table."""

    population: Population | None
    """How many paths and sessions are played, and who the users are."""


class Sample(TypedDict, total=False):
    """Points drawn from the axes, instead of the full grid."""

    kind: Required[Literal["latin_hypercube", "random"]]
    """How they are drawn."""

    points: Required[int]
    """How many."""

    seed: int
    """Of the draws."""


Axis = TypedDict(
    "Axis",
    {
        "key": "str | None",
        "keys": "Sequence[Any] | None",
        "values": "Sequence[Any] | None",
        "from": "float | str | None",
        "to": "float | str | None",
        "steps": "int",
        "scale": 'Literal["linear", "log"]',
    },
    total=False,
)
"""A setting that varies, or several that vary together: a list of `values`, or a range `from` … `to`."""


class Design(TypedDict, total=False):
    """What a sweep varies, over which scenario."""

    name: str | None
    """Label in reports."""

    scenario: Required[Any]
    """The scenario that is varied."""

    cc: Any | None
    """Senders instead of the scenario's."""

    scheduler: Any | None
    """Each sender under each of these schedulers."""

    abr: Any | None
    """Each sender's viewers under each of these adaptation rules."""

    seeds: int | None
    """Replications of each point."""

    axis: Required[Sequence[Axis]]
    """A setting that varies, or several that vary together: a list of `values`, or a range `from` … `to`."""

    sample: Sample | None
    """Points drawn from the axes, instead of the full grid."""


class TrafficRtt(TypedDict, total=False):
    """A round trip that is drawn for each source."""

    uniform: Required[Sequence[Any]]
    """Least and most."""

    whole: bool
    """It is the whole round trip, the path's where that is longer; else it is added."""


class Tcp(TypedDict, total=False):
    """The keys of TCP."""

    profile: Literal["linux", "ns2", "rfc"] | None
    """Stack whose habits the endpoints have."""

    mss: int | None
    """Payload of a full packet, without headers and options."""

    initial_window: int | None
    """Congestion window at the start."""

    validation: Literal["none", "rfc2861", "newcwv", "newcwv_2013"] | None
    """Congestion window validation."""

    pacing: Literal["off", "linux", "controller"] | Pacing | None
    """Pacing, or a gain of one's own."""

    sack: bool | None
    """Selective acknowledgements."""

    timestamps: bool | None
    """TCP timestamps."""

    ecn: bool | None
    """Explicit congestion notification."""

    delayed_ack: DelayedAck | Literal["off", "rfc5681", "linux"] | None
    """When the client acknowledges, or the longest wait of a client that waits for a second packet."""

    loss_detection: Literal["rack_tlp", "rfc6675", "newreno", "newreno_steady", "reno", "ns2_vegas"] | None
    """How the sender finds losses."""

    recovery: Literal["prr", "rfc6675", "newreno"] | None
    """How the window moves during fast recovery."""

    limited_transmit: bool | None
    """New packets on the first two duplicate ACKs (RFC 3042)."""

    rto_min: str | None
    """Smallest retransmission timeout."""

    send_buffer: str | None
    """What the server's socket holds, sent or not."""

    receive_buffer: str | None
    """What the client's socket holds: the receive window."""

    window_tuning: bool | None
    """The client's receive window begins small and grows with what is read, up to `receive_buffer` (Linux's
    tcp_moderate_rcvbuf)."""

    max_burst: int | None
    """Most packets that one event may release."""

    tls: Literal["none", "full", "resumed", "early_data"]
    """TLS 1.3 in the stream: round trips and sizes of its handshake, and its records. A comparison of transports
    has `full`."""


class Sender(Tcp, total=False):
    """What serves the video: a congestion control and the habits of its transport. One is played after the other, on the same paths."""

    name: str | None
    """Unique label."""

    cc: Mapping[str, Any] | str
    """Congestion control, with its parameters (`playpath list cc`). Traffic without one has, in a scenario without
    a video, that of the sender which is compared."""

    paths: Sequence[str] | str | None
    """Paths that it may use; over several it is MPTCP."""

    scheduler: Mapping[str, Any] | str
    """MPTCP scheduler, with its parameters (`playpath list scheduler`); by default that of stock kernels. Over one
    path it has no say."""

    abr: Mapping[str, Any] | str | None
    """Adaptation rule of this sender's viewers (`playpath list abr`), in place of the player's."""

    notsent_lowat: str | None
    """Most unsent bytes that the video's server leaves in the socket (TCP_NOTSENT_LOWAT). Priorities do not change
    the order of what is in the socket."""

    transport: Mapping[str, Any] | str
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


class DelayedAck(TypedDict, total=False):
    """Delayed acknowledgements with a delay of one's own."""

    delay: Required[str]
    """Longest wait for a second packet."""


class Pacing(TypedDict, total=False):
    """Pacing by a gain of one's own."""

    gain: Required[float]
    """The rate is gain x cwnd / srtt."""


class Reordering(TypedDict, total=False):
    """Packets that overtake: some are held back while later ones pass."""

    probability: Required[str]
    """Share of the packets that may be held back."""

    extra_delay: Required[str]
    """How long one is held back."""

    gap: int
    """At most one of so many is held back."""


class Jitter(TypedDict, total=False):
    """Random change of the delay."""

    amplitude: Required[str]
    """How much: see `distribution`."""

    distribution: Literal["uniform", "normal"]
    """How it is drawn."""


class Wifi(TypedDict, total=False):
    """An 802.11 hop instead of a rate: backoff, retries, rate adaptation, aggregates, other stations. Excludes `rate` and `trace`."""

    standard: Literal["802.11g", "802.11n"]
    """generation of the radio"""

    snr: float
    """mean signal-to-noise ratio"""

    snr_sd: float
    """its standard deviation"""

    coherence: str
    """time in which its correlation falls to 1/e"""

    rate_control: Literal["minstrel", "ideal", "fixed"]
    """how the rate is chosen"""

    retries: int
    """transmissions of a frame after the first; then it is lost"""

    aggregate: int
    """most frames in one transmission; 802.11g sends one"""

    stations: int
    """others that always have something to send, as much at a time"""


class Rebinding(TypedDict, total=False):
    """A NAT on the path gives the client another port: packets for the one before are lost, and a TCP server resets."""

    at: Required[str]
    """Since the start of the run."""

    every: str | None
    """And then again each time after this."""

    spread: str
    """The first comes up to this much later, by the seed."""


Outage = TypedDict("Outage", {"from": Required[str], "until": "str | None", "spread": "str"}, total=False)
"""A time in which the path's own link loses everything, both ways."""


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

    queue: Mapping[str, Any] | str | None
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

    name: str | None
    """What `via` calls it; unique."""

    rtt: str
    """Round trip that it adds, half of it each way."""

    up: Up | None
    """The way from the client to the server: acknowledgements and requests."""


class Path(Direction, total=False):
    """A path between server and client; at least one. Its keys describe the way to the client, `up` the way back."""

    name: str | None
    """What reports and `paths` call it; unique."""

    rtt: Required[str]
    """Base round-trip time, without queueing and without shared links; half of it each way."""

    via: Sequence[str] | str | None
    """Shared links between the server and the path's own link, from the server on."""

    rebinding: Rebinding | None
    """A NAT on the path gives the client another port: packets for the one before are lost, and a TCP server
    resets."""

    outage: Outage | None
    """A time in which the path's own link loses everything, both ways."""

    up: Up | None
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

    down: Sequence[Any] | None
    """From when to when, since the start of the run, the first host answers with errors only."""

    hosts: int
    """Hosts with the same segments that the player may turn to."""


class Viewer(TypedDict, total=False):
    """Who watches: seeks, and leaving before the end. Holds for competing video sessions, too, each with draws of its own."""

    leaves_after: str | None
    """Leaves so long after pressing play."""

    patience: str | None
    """Leaves when playback has stood still for so long: start-up, stall or seek."""

    stall_limit: str | None
    """Leaves when stalls add up to this."""

    law: Literal["fixed", "exponential"]
    """How long viewers stay and wait."""

    seeks: str | None
    """Seeks, one after the other; needs `player.kind` = "dash", on demand."""

    seek_every: str | None
    """Seeks at random: mean of the exponential times between."""

    seek_length: str
    """Of these: mean of the exponential lengths."""

    seek_back: str
    """Of these: the share that goes back."""


class Player(TypedDict, total=False):
    """What plays the video, with its parameters (`playpath list player`). Needs [video]."""

    kind: Literal["progressive", "dash", "agent"] | None
    """Which player."""

    buffer: str
    """size of the cache; VLC's network cache is 1 s, the CCP papers use 1, 2, 3 s"""

    read_ahead: str
    """what it reads beyond its cache, as players do: vlc (16 to 25 MiB), chromium (10 s of media, 2 to 20 MiB, and
    2 to 4 MiB; it grows); what is not read waits in the socket"""

    policy: Literal["catch-up", "rebuffer"]
    """late data: run on and discard (VLC), or stop the clock (browsers)"""

    start: Literal["full", "first-frame"]
    """the clock starts when the cache is full, or the cache's length after the first picture"""

    late: Literal["discard", "play-faster"]
    """catch-up: late pictures are discarded (VLC), or shown faster until one is on time (VLC's --no-drop-late-
    frames)"""

    catch_up_rate: float
    """play-faster: times the normal speed"""

    hurry_up: bool
    """play-faster: with five late pictures in a row the decoder skips those that no other needs, with twelve any
    (VLC)"""

    references: str
    """catch-up: media time between clock references; a late one stops the clock until the cache is full, which
    grows (VLC's MP4 demuxer: 250 ms)"""

    late_threshold: str
    """catch-up: pictures later than this are discarded (VLC)"""

    shift_after: str
    """catch-up: later than this sets the clock back"""

    max_shift: str
    """catch-up: most that the clock is set back at once, and that the cache grows (VLC's clock-jitter)"""

    resume: str
    """rebuffer: what must be there for the clock to go on"""

    drop_dependents: bool
    """catch-up: also discard pictures that depend on a discarded one"""

    client: Literal["dash-js", "vlc", "vlc-2.1", "dash.js", "hls.js", "shaka", "exoplayer", "sabre"]
    """buffer policy and connections of a known client"""

    abr: Mapping[str, Any] | str
    """adaptation rule of the video; the client's own by default"""

    audio_abr: str
    """adaptation rule of the audio, if it is a set of its own"""

    ladder: str
    """rates of the video, where no manifest is given (newCWV study)"""

    segment: str
    """duration of a segment, where no manifest is given (newCWV study)"""

    duration: str
    """duration, where no manifest is given"""

    size_cv: str
    """coefficient of variation of segment sizes, where they are not known"""

    audio: str
    """rate of an audio set of its own, where no manifest is given"""

    vmaf: str
    """VMAF of each representation of the video, lowest rate first, as you measured it"""

    ssimplus: str
    """the same in SSIMplus, 0 to 100"""

    ssim: str
    """the same in SSIM, 0 to below 1"""

    full_level: str
    """requests stop at this buffer level"""

    resume_level: str
    """and start again at this one"""

    room: Literal["client", "whole", "any"]
    """whole: a segment must fit below full_level; any: the last one may exceed it"""

    fast_switch: Literal["client", "on", "off"]
    """another rung replaces lower ones in the buffer, from the playhead on (dash.js: on)"""

    device_buffer: str
    """most bytes of each kind of media ahead of the playhead, as a device's decoder allows (Chromium's: 150 MB of
    video)"""

    request_timeout: str
    """with [origin]: until the first byte, then a retry"""

    retries: str
    """with [origin]: attempts after the first, on each host"""

    start_level: str
    """playback starts at this level"""

    stall_resume_level: str
    """and goes on after a stall at this one"""

    decoder_delay: str
    """media at the end of the buffer that the decoder holds back until more comes (browsers: 100 ms; low latency:
    nothing)"""

    connections: str
    """use of connections"""

    http: Literal["apart", "http/1.1", "h2"]
    """apart: each kind of media has connections of its own, used as `connections` says; http/1.1: all share those
    of the host, opened when none is free, as in browsers; h2: all share one connection, side by side; from a sender
    over QUIC it is HTTP/3, whatever stands here"""

    connections_per_host: int
    """HTTP/1.1: most that are shared (Chromium, Firefox: 6)"""

    video_priority: str
    """HTTP/2 and HTTP/3: priority of the video (Chromium's of all that a page fetches)"""

    audio_priority: str
    """HTTP/2 and HTTP/3: priority of the audio (Chromium's of all that a page fetches)"""

    idle_timeout: str
    """the server closes connections idle for longer"""

    pipeline_at: str
    """share of a response after which the next is asked for"""

    abandonment: bool
    """let the rule give up downloads"""

    request_header_bytes: float
    """HTTP request without client data (Chromium: about 400)"""

    response_header_bytes: float
    """HTTP response header (nginx, Apache: about 300)"""

    manifest_bytes: float
    """size of the manifest fetched first; 0: none"""

    cmcd: Literal["off", "v1", "v2"]
    """client data sent with each request"""

    cmcd_claim: Literal["honest", "empty", "full"]
    """what the client data says of the buffer: the truth, or always that it has run dry, or is full"""

    cmcd_lag: str
    """the client data come so late: with the level of the last request before that"""

    cmcd_events: str
    """reports of client data beside the requests (CMCD v2, event mode): of ps (state of playback), bc (change of
    rate), t (every `cmcd_interval`), e (error), rr (a response was received: CMCD's response mode)"""

    cmcd_interval: str
    """between reports by the clock (dash.js: 30 s)"""

    cmsd: bool
    """the server tells its throughput estimate (etp) and rtt with each response (CTA-5006)"""

    cmsd_mb: str
    """with cmsd: the server suggests no rate above this to a session (mb)"""

    apply_mb: bool
    """the player chooses no rate above the suggested one (dash.js applyMb)"""

    etp_weight: str
    """share of etp in each throughput sample (dash.js etpWeightRatio)"""

    latency_target: str
    """play live, so far behind the edge"""

    skip_behind: str
    """live: skip when stalls have cost more than this"""

    low_latency: Literal["off", "chunks", "parts"]
    """live: media before its segment is complete; chunks: CMAF chunks sent as they are encoded (LL-DASH); parts: a
    blocking playlist, then a part (LL-HLS)"""

    piece: str
    """low latency: duration of a chunk or part"""

    playlist_bytes: float
    """low latency in parts: size of a playlist"""

    join: Literal["segment", "any"]
    """live: the viewer joins at the start of a segment, or at a point of it that is drawn for each seed"""

    catch_up: Literal["client", "off", "dash.js", "lol+", "hls.js", "shaka"]
    """live: law of the playback speed that keeps the latency; client: dash.js's with low latency, the others have
    it off"""

    speeds: str
    """slowest and fastest playback of `catch_up`; law: as its player has them"""

    xfactor: float
    """the server writes so many times the media rate; 1 is constrained (paper: 8)"""

    heartbeat: str
    """interval of the server's writes (the paper does not say)"""

    start_share: str
    """share of the media that is buffered before the start (paper)"""

    overflow: Literal["backpressure", "discard"]
    """a full buffer stops reading, or loses what comes"""


class Manifest(TypedDict, total=False):
    """A manifest with what it names, as a resolved scenario carries it."""

    format: Required[Literal["mpd", "hls", "sabre"]]
    """What it is."""

    content: Required[str]
    """Its text."""

    playlists: Mapping[str, Any] | None
    """The playlists that it names."""


class Video(TypedDict, total=False):
    """What is played: a file, a manifest, or a stated rate and duration. Without it there is cross traffic alone."""

    source: Mapping[str, str] | str | None
    """The built-in clip "bigbuckbunny", an MP4 file, a frame table (.csv), ffprobe's packets (.json), or a
    manifest."""

    manifest: Manifest | Mapping[str, str] | str | None
    """MPD, HLS playlist or Sabre movie: the ladder that an adaptive player chooses from. Excludes the other keys
    but `quality`."""

    rate: str | None
    """Mean rate; frames of a file are scaled to it."""

    duration: str | None
    """Playing time; a file is cut or repeated."""

    fps: float
    """Frame rate of a modelled video; excludes `source`."""

    seed: int
    """Of the frame sizes of a modelled video, the same in every replication; excludes `source`."""

    scene_sd: float
    """Standard deviation of the logarithm of a scene's rate in a modelled video, 0.4 for instance; excludes
    `source`."""

    scene_time: str
    """Mean length of its scenes; excludes `source`."""

    quality: Mapping[str, str] | str | None
    """Measured quality of an adaptive player's representations, a CSV table: `representation`, `segment` (may be
    left out), and of `vmaf`, `ssimplus`, `ssim` what you have."""


class Choice(TypedDict, total=False):
    """What is compared besides senders, as `--vary` does: values of a setting, combined with those of others, for every sender."""

    key: Required[str]
    """The setting, as `--set` takes it."""

    values: Required[Sequence[Any]]
    """Its values, two or more; the others are held against the first."""


class Verdict(TypedDict, total=False):
    """By what senders are ranked."""

    prefer: Literal["range", "stalls", "picture", "start", "qoe_linear", "qoe_linear_pensieve", "p1203_o35"]
    """What comes first."""


class Run(TypedDict, total=False):
    """How long, how often, with which packets."""

    seeds: int
    """Replications; each has its own random draws."""

    first_seed: int
    """Seed of the first replication; the others count up from it. Python's tables hold seeds up to 2^63 - 1."""

    duration: str | None
    """End of the run. With a video a run ends when it has been played, at the latest here."""

    sample_interval: str
    """Interval of the time series of `--trace`."""

    profile: Literal["linux", "ns2", "rfc"]
    """Stack whose habits the endpoints have."""

    transport: Literal["packets", "ideal"]
    """What carries the video."""

    max_events: int
    """The most events that a run of the simulator may take; one that takes more fails."""

    mss: int | None
    """Payload of a full packet, without headers and options."""
