"""Types of what the engine says about itself: the keys of documents, the registries, and its smaller answers."""

from typing import Literal, NotRequired, TypedDict

Scalar = bool | int | float | str


class DeclaredKey(TypedDict):
    """A key of a table, or a parameter of a component."""

    name: str
    type: str
    default: Scalar
    otherwise: str
    """What happens when the key is left out, if that cannot be written as a default value."""
    is_needed: bool
    allowed: str
    words: list[tuple[str, str]]
    """The allowed words, each with its meaning."""
    unit: str
    since: str
    doc: str
    example: str
    """In TOML."""
    kernel: str
    """What the kernel world does differently."""
    idle_with: list[tuple[str, str]]
    """(parameter, word): this parameter has no effect while that other one has that word as its value."""
    table: str | None
    """The name of the table that the key takes."""


class Variant(TypedDict):
    """One variant of a table, with its own keys."""

    name: str
    aliases: list[str]
    summary: str
    keys: list[DeclaredKey]


class Choice(TypedDict):
    """How a table selects its variant: by the key `tag`."""

    tag: str
    what: str
    default: str
    otherwise: str
    variants: list[Variant]


DeclaredTable = TypedDict(
    "DeclaredTable", {"doc": str, "keys": list[DeclaredKey], "with": list[str], "choice": Choice | None}
)
"""A table; `with` lists the tables whose keys it has as well."""


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
    """Position among the criteria when senders of video are ranked; None if it is not a criterion there."""
    bulk_rank: int | None
    """Position among the criteria when there is no video."""
    is_always_there: bool
    yields_to: list[str]
    """If one of these criteria is present, this metric is not used as a criterion."""
    of: str
    """What the metric describes: `viewer`, for example."""


class KernelControl(TypedDict):
    """What represents a congestion control in Linux.

    `control` is its name (`reno`, or `bpf:vegas` for ours), `settings` the values that differ from its defaults, `habits` the
    behaviours of a stack that were requested but do not apply there, `takes` the other parameters that it accepts.
    """

    control: str
    settings: dict[str, Scalar]
    habits: dict[str, Scalar]
    takes: list[str]


class Cmcd(TypedDict):
    """The CMCD keys that a player sent with a request (CTA-5004); None for a key that it did not send."""

    sid: str | None
    br_kbps: int | None
    bl_ms: int | None
    d_ms: int | None
    mtp_kbps: int | None
    ot: str | None
    v: int | None
