"""The verdict in a few sentences: who is best for the viewer, who of these is kindest to the network, who comes next."""

from __future__ import annotations

from collections.abc import Sequence

from playpath.metrics import NETWORK_CRITERIA, format_more_runs, format_value, metric
from playpath.ranking import Decision, Difference, Ranker

_DESCRIBED = 2
"""Criteria that describe the best sender."""
_CLEARLY_FEWER = 0.9
"""The viewer's side has a number of its own where that takes clearly fewer runs than all."""
_NAMED = 3
"""Senders that a headline names; the others it counts."""
_STALL = "stall_time_s"
_ROOM = 0.05
"""What runs without a noticeable difference leave room for: a share of sessions that would show in them with 95 %."""


def headline(ranker: Ranker, decision: Decision) -> str:
    """Who keeps the video playing and who does not, for someone who reads one line; what it rests on is the verdict's to say."""
    if len(decision.ranking) == 1 or ranker.seeds < 2:
        return verdict(ranker, decision)
    best, runs = decision.ranking[0], f"{ranker.seeds} runs"
    leaders, doubtful, behind = _sides(ranker, decision)
    trailing = _trailing(ranker, decision, behind)
    if doubtful:
        name = decision.deciding[doubtful[0]]
        mean = ranker.mean(best, name)
        told = "" if mean is None else f" and {_outcome(name, [mean])}"
        return f"Undecided after {runs} between {_some([*leaders, *doubtful])}; {best} leads{told}{trailing}."
    if not behind:
        return f"No difference in {runs} that {_judge(ranker)} would notice between {_some(leaders)}."
    means = [ranker.mean(sender, decision.deciding[behind[0]]) for sender in leaders]
    if None in means:
        return f"{_some(leaders)} lead{'s' if leaders == [best] else ''}{trailing}."
    known = [mean for mean in means if mean is not None]
    outcome = _outcome(decision.deciding[behind[0]], known)
    return f"{_some(leaders)} {outcome}{trailing}."


def _sides(ranker: Ranker, decision: Decision) -> tuple[list[str], list[str], list[str]]:
    """Who is ahead as far as anybody noticed, who may be, and who is behind, by what the viewer sees."""
    doubtful = [s for s in decision.open if not _by_cost(decision, s) and not _is_unnoticed(ranker, decision, s)]
    behind = [s for s in decision.ranking if s in decision.beaten and not _by_cost(decision, s)]
    return [s for s in decision.ranking if s not in doubtful and s not in behind], doubtful, behind


def _trailing(ranker: Ranker, decision: Decision, behind: Sequence[str]) -> str:
    """The first of those behind, and the last by the same criterion."""
    if not behind:
        return ""
    name = decision.deciding[behind[0]]
    first, last = behind[0], [s for s in behind if decision.deciding[s] == name][-1]
    means = {sender: ranker.mean(sender, name) for sender in (first, last)}
    found = {sender: mean for sender, mean in means.items() if mean is not None}
    if first not in found:
        return f"; {_some(behind)} {'is' if len(behind) == 1 else 'are'} behind"
    more = (
        f", {last} {'for ' if name == _STALL else ''}{_amount(name, [found[last]])}"
        if last in found and last != first
        else ""
    )
    return f"; {first} {_outcome(name, [found[first]])}{more}"


def _outcome(name: str, means: Sequence[float]) -> str:
    """What viewers get, as the predicate of one sender or of several."""
    is_one = len(means) == 1
    if name != _STALL:
        return f"{'has' if is_one else 'have'} {_amount(name, means)} {metric(name).label}"
    if max(means) == 0:
        return f"{'does' if is_one else 'do'} not stall"
    return f"{'stalls' if is_one else 'stall'} for {_amount(name, means)} a session"


def _amount(name: str, means: Sequence[float]) -> str:
    """A mean with its unit, or the range of several."""
    low, high = format_value(min(means)), format_value(max(means))
    unit = f" {metric(name).unit}" if metric(name).unit else ""
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _some(names: Sequence[str]) -> str:
    """The first of them by name, the others as a number."""
    if len(names) <= _NAMED + 1:
        return _join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"


def _judge(ranker: Ranker) -> str:
    return "a viewer" if _for_viewer(ranker) else "anybody"


def verdict(ranker: Ranker, decision: Decision) -> str:
    """What the comparison says, in words that a streaming engineer would use."""
    best = decision.ranking[0]
    told = _describe(ranker, best)
    if len(decision.ranking) == 1:
        return f"{best}{told}; there is nothing to compare it with."
    if ranker.seeds < 2:
        return f"Undecided: one run has no interval. In it {_leaders(ranker, decision)}{told and ':'}{told}. Run more seeds."
    sentences = [_first(ranker, decision, told), _cost(ranker, decision), _next(ranker, decision), _runs(decision)]
    return " ".join(sentence for sentence in sentences if sentence)


def _leaders(ranker: Ranker, decision: Decision) -> str:
    """Who did best in a single run, or that nobody did."""
    best = [sender for sender in decision.ranking if decision.ranks[sender] == 1]
    if len(best) == 1:
        return f"{best[0]} did best"
    columns = [[ranker.column(sender, name) for name in ranker.criteria] for sender in best]
    how = "equal" if all(column == columns[0] for column in columns) else "alike"
    return f"{_join(best)} are {how}{'' if len(best) == len(decision.ranking) else ', and ahead'}"


def _first(ranker: Ranker, decision: Decision, told: str) -> str:
    """Who is best, or between whom it is open, before the network's costs are looked at."""
    best = decision.ranking[0]
    open_senders = [s for s in decision.open if not _by_cost(decision, s)]
    together = [best, *(s for s in decision.ranking[1:] if s in decision.tied or _by_cost(decision, s))]
    colon = told and ":"
    if open_senders:
        found = ranker.difference(open_senders[0], best, decision.deciding[open_senders[0]])
        between = _join([*together, *open_senders])
        if found is not None and all(_is_unnoticed(ranker, decision, sender) for sender in open_senders):
            said = f"{between} are not told apart: {_difference(found)}. {best}{colon}{told}."
            return said + (_later(ranker, decision, open_senders) or _cheapest(ranker, [*together, *open_senders]))
        why = f" ({_difference(found)})" if found is not None else ""
        return f"Undecided after {ranker.seeds} runs between {between}{why}. {best} leads{colon}{told}."
    if len(together) == 1:
        return f"{best} does best{colon}{told}."
    if len(decision.tied) == len(decision.ranking) - 1:
        return f"No difference that counts between {_join(together)}{colon}{told}."
    return f"{_join(together)} are alike{_for_viewer(ranker)}{colon}{told}."


def _is_unnoticed(ranker: Ranker, decision: Decision, sender: str) -> bool:
    """Open for want of runs alone: in none of them would a viewer have noticed a difference from the best."""
    found = ranker.difference(sender, decision.ranking[0], decision.deciding[sender])
    return found is not None and found.noticed == 0


def _later(ranker: Ranker, decision: Decision, open_senders: Sequence[str]) -> str:
    """What does differ for certain, though less important than what is open."""
    best = decision.ranking[0]
    for sender in open_senders:
        rest = ranker.criteria[ranker.criteria.index(decision.deciding[sender]) + 1 :]
        name = next((name for name in rest if ranker.relation(sender, best, name) == "apart"), None)
        found = None if name is None else ranker.difference(sender, best, name)
        if found is not None:
            return f" What does differ: {sender} has {_difference(found)}."
    return ""


def _cheapest(ranker: Ranker, senders: Sequence[str]) -> str:
    """Who of them retransmits least, and most, so far; nothing where that is close."""
    name = "retransmitted_packets"
    means = sorted((mean, s) for s in senders if (mean := ranker.mean(s, name)) is not None)
    if len(means) < 2 or means[-1][0] - means[0][0] <= metric(name).margin(means[0][0], means[-1][0]):
        return ""
    (least, first), (most, last) = means[0], means[-1]
    return f" So far {first} retransmits least, {format_value(least)} packets a session, and {last} most, {format_value(most)}."


def _cost(ranker: Ranker, decision: Decision) -> str:
    """Who of those alike for the viewer costs the network least."""
    best = decision.ranking[0]
    behind = [s for s in decision.ranking[1:] if _by_cost(decision, s)]
    if not behind:
        return ""
    unsure = [s for s in behind if s in decision.open]
    shown = (unsure or behind)[0]
    found = ranker.difference(shown, best, decision.deciding[shown])
    detail = f": {shown} has {_difference(found)}" if found is not None else ""
    if unsure:
        return f"Which of them costs the network least is open{detail}."
    least = _join([best, *decision.tied])
    return f"Of these {least} cost{'s' if not decision.tied else ''} the network least{detail}."


def _next(ranker: Ranker, decision: Decision) -> str:
    """The first that is behind for certain, for the viewer."""
    behind = [s for s in decision.ranking if s in decision.beaten and not _by_cost(decision, s)]
    if not behind:
        return ""
    name = decision.deciding[behind[0]]
    found = ranker.difference(behind[0], decision.ranking[0], name)
    if found is None:
        return f"The next is {behind[0]}, some of whose sessions have no {metric(name).label}."
    return f"The next is {behind[0]}: {_difference(found)}."


def _runs(decision: Decision) -> str:
    if decision.is_decided:
        return ""
    for_viewer, for_all = decision.more_runs_for_viewer, decision.more_runs
    if for_viewer is not None and (for_all is None or for_viewer < _CLEARLY_FEWER * for_all):
        costs = "are unlikely to be decided soon" if for_all is None else f"take about {for_all}"
        return f"About {format_more_runs(for_viewer)} would probably settle what the viewer sees; the network's costs {costs}."
    if for_all is None:
        return "More runs are unlikely to decide soon."
    return f"About {format_more_runs(for_all)} would probably decide."


def _by_cost(decision: Decision, sender: str) -> bool:
    """Alike in all that the viewer sees; told apart, or open, by what the network pays."""
    return decision.deciding.get(sender) in NETWORK_CRITERIA


def _for_viewer(ranker: Ranker) -> str:
    return "" if all(name in NETWORK_CRITERIA for name in ranker.criteria) else " for the viewer"


def _difference(found: Difference) -> str:
    entry = metric(found.metric)
    if found.noticed == 0 and found.relation == "open":
        room = f"{100 * (1 - _ROOM ** (1 / found.n)):.0f} %"
        seen = f"in none of {found.n} runs would a viewer notice a difference in {entry.label} from {found.best}"
        return f"{seen}, which leaves room for one in up to {room} of sessions"
    unit = f" {entry.unit}" if entry.unit else ""
    more = "more" if found.mean >= 0 else "less"
    size = f"{format_value(abs(found.mean))}{unit} {more} {entry.label} than {found.best}"
    if found.p_adjusted is None:
        return size
    if found.ci95 is None:
        return f"{size} on average, noticeably different in {found.noticed} of {found.n} runs"
    low, high = found.ci95 if found.mean >= 0 else (-found.ci95[1], -found.ci95[0])
    return f"{size} on average, 95 % interval of the median {format_value(low)} to {format_value(high)}"


def _describe(ranker: Ranker, sender: str) -> str:
    """What a viewer asks first, for example ' stall time 2.1 s, discarded frames 14 a session on average'."""
    parts = []
    for name in [name for name in ranker.criteria if name != "played_s"][:_DESCRIBED]:
        mean = ranker.mean(sender, name)
        if mean is not None:
            entry = metric(name)
            unit = f" {entry.unit}" if entry.unit else ""
            parts.append(f"{entry.label} {format_value(mean)}{unit}")
    return f" {', '.join(parts)} a session on average" if parts else ""


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
