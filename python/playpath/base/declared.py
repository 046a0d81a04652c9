"""What the engine tells of itself, typed: the keys of documents, the registries, and its smaller answers."""

from typing import Literal, NotRequired, TypedDict

Scalar = bool | int | float | str


class DeclaredKey(TypedDict):
    """A key of a table, or a parameter of a component."""

    name: str
    type: str
    default: Scalar
    otherwise: str
    """What holds where it is not given, if that is no value."""
    is_needed: bool
    allowed: str
    words: list[tuple[str, str]]
    """Word and what it means, where it is one of several."""
    unit: str
    since: str
    doc: str
    example: str
    """In TOML."""
    kernel: str
    """What the kernel world does otherwise."""
    idle_with: list[tuple[str, str]]
    """Other parameters with the word of each beside which this one is not in force."""
    table: str | None
    """The table that it takes."""


class Variant(TypedDict):
    """One of those that a table may be, with the keys of its own."""

    name: str
    aliases: list[str]
    summary: str
    keys: list[DeclaredKey]


class Choice(TypedDict):
    """How a table says which variant it is: by the key `tag`."""

    tag: str
    what: str
    default: str
    otherwise: str
    variants: list[Variant]


DeclaredTable = TypedDict(
    "DeclaredTable", {"doc": str, "keys": list[DeclaredKey], "with": list[str], "choice": Choice | None}
)
"""A table; `with` are the tables whose keys it has, too."""


class QuicStack(TypedDict):
    """Whether a congestion control can run in a QUIC stack, and if not, why."""

    stack: str
    refused: str | None


class Component(TypedDict):
    """An entry of a registry: a congestion control, a queue, a player."""

    name: str
    summary: str
    reference: NotRequired[str]
    params: NotRequired[list[DeclaredKey]]
    in_kernel: NotRequired[str | None]
    quic_stacks: NotRequired[list[QuicStack]]
    is_coupled: NotRequired[bool]
    responds_to_loss: NotRequired[bool]


class DeclaredMetric(TypedDict):
    """An entry of the registry of metrics; see `metrics.Metric`."""

    name: str
    label: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    least: float
    least_share: float
    summary: str
    video_rank: int | None
    """Place among the criteria of a ranking with a video."""
    bulk_rank: int | None
    """Likewise without one."""
    is_always_there: bool
    yields_to: list[str]
    """Criteria beside which it is none."""
    of: str
    """What it is a figure of: `viewer`, for example."""


class KernelControl(TypedDict):
    """What of Linux stands for a congestion control.

    `control` is its name (`reno`, or `bpf:vegas` for ours), `settings` what is not its default, `habits` those of a stack that are asked
    for and not in force, `takes` what it takes besides.
    """

    control: str
    settings: dict[str, Scalar]
    habits: dict[str, Scalar]
    takes: list[str]


class Cmcd(TypedDict):
    """What a player told with a request (CTA-5004); None where it did not."""

    sid: str | None
    br_kbps: int | None
    bl_ms: int | None
    d_ms: int | None
    mtp_kbps: int | None
    ot: str | None
    v: int | None
