"""The sentences of a population's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playpath.base.metrics import format_value, metric, signed
from playpath.base.words import listing
from playpath.population.intervals import MIN_UNITS, Estimate
from playpath.population.known_from import caveat
from playpath.results.effects import sentence

if TYPE_CHECKING:
    from playpath.population.answer import PopulationResult
from playpath.population.versus import Versus

_PICTURES = ("mean_vmaf", "mean_ssimplus", "mean_ssim_db", "mean_rate_kbps")
_FEW_CHANGED = 0.005
_ALIKE_FROM = 0.8
"""A ratio of retransmissions between this and its inverse is called "about as much"."""
_NOTICED = 0.05
_NOTICED_STALL_S = 0.5
"""The change of throughput (a share) and of stall time (the metric's margin) that neighbours notice."""


def headline(result: PopulationResult) -> str:
    """The recommendation and its effect on the viewers; if the logs behind the paths cannot decide, that comes first."""
    why = result.left_open
    if why is None or len(result.senders) < 2:
        return _verdict(result) + caveat(result.known_from)
    other = result.contender
    effect = _effect(result.versus(other, result.baseline), other)
    return f"Undecided: {why}. If no path loses packets at random: {effect}"


def _verdict(result: PopulationResult) -> str:
    if result.population.base.asks_for_whom:
        return sentence(result.effects)
    best, today = result.best, result.baseline
    if len(result.senders) < 2:
        return f"{best} was played alone: there is nothing to compare it with."
    if best == today:
        return _stay(result)
    versus = result.versus(best, today)
    # After a sentence that names two senders "it" would be ambiguous.
    who = "It" if versus.relation == "better" and result.is_decided else best
    effect = _effect(versus, who)
    cost = _cost(versus, who)
    if versus.relation == "better":
        why = "" if versus.decided_by == "viewers" else f" Viewers are served alike; {best} costs the network less."
        more = "" if result.is_decided else _more(result, result.undecided[0])
        return f"{_advice(result)}{why} {effect}{cost}{more}"
    if versus.relation == "alike":
        return f"{best} and {today} are alike for these viewers and their network. {effect}{cost}"
    names = dict.fromkeys([best, today, *(v.other for v in result.undecided)])
    return f"Undecided between {listing(list(names))}. {effect}{cost}{blocked(result, versus)}{_more(result, versus)}"


def _advice(result: PopulationResult) -> str:
    """What to do where a sender is proven better than today's."""
    if result.is_decided:
        return f"Use {result.best}."
    rivals = listing([v.other for v in result.undecided])
    return f"Leave {result.baseline}: {result.best} is better; {rivals} may be better still."


def _stay(result: PopulationResult) -> str:
    others = list(result.against_best.values())
    open_ones = result.undecided
    next_best = others[0]
    effect = f"Against {next_best.other} it serves {_percent(next_best.helped)} of viewers better and {_percent(next_best.harmed)} worse."
    effect += neighbours(next_best)
    if not open_ones:
        alike = [v.other for v in others if v.relation == "alike"]
        same = f" {listing(alike)} would do as well." if alike else ""
        return f"Stay with {result.best}: no other sender serves these viewers better. {effect}{same}"
    names = listing([v.other for v in open_ones])
    why = blocked(result, open_ones[0]) + _more(result, open_ones[0])
    return f"Stay with {result.best} for now: it leads, undecided against {names}. {effect}{why}"


def _effect(versus: Versus, who: str) -> str:
    """How many viewers it helps and harms."""
    if max(versus.helped.value, versus.harmed.value) < _FEW_CHANGED:
        return f"Hardly any viewer would notice a change from {versus.other}."
    stalls = ""
    if versus.stalls and max(versus.stalls["with_other"], versus.stalls["with_sender"]) >= _FEW_CHANGED:
        before, after = (f"{100 * versus.stalls[key]:.0f} %" for key in ("with_other", "with_sender"))
        stalls = f" Sessions that stall: {before} with {versus.other}, {after} with {versus.sender}."
    return (
        f"{who} serves {_percent(versus.helped)} of these viewers better than {versus.other} and {_percent(versus.harmed)} worse; "
        f"the others notice nothing.{stalls}"
    )


def _cost(versus: Versus, who: str) -> str:
    ratio = versus.retransmission_ratio
    if ratio is None:
        own = ""
    elif _ALIKE_FROM < ratio < 1 / _ALIKE_FROM:
        own = f" {who} retransmits about as much."
    else:
        own = f" {who} retransmits {format_value(ratio, 2)} times as many packets."
    return own + neighbours(versus)


def neighbours(versus: Versus) -> str:
    """The effect of the change on the flows that share the path; empty if there are none."""
    changes = versus.neighbours
    if not changes:
        return ""
    parts = []
    again = changes.get("retransmission_ratio")
    if again is not None and not _ALIKE_FROM < again < 1 / _ALIKE_FROM:
        parts.append(f"retransmit {format_value(again, 2)} times as much")
    share = changes.get("goodput_ratio")
    if share is not None and abs(share - 1) >= _NOTICED:
        parts.append(f"get {100 * abs(share - 1):.0f} % {'less' if share < 1 else 'more'} throughput")
    before, after = (changes.get(f"stall_s_with_{who}", 0.0) for who in ("other", "sender"))
    if abs(after - before) > _NOTICED_STALL_S:
        parts.append(f"stall for {format_value(after, 2)} s instead of {format_value(before, 2)} s")
    return f" Its neighbours {listing(parts)}." if parts else " Its neighbours notice nothing."


def blocked(result: PopulationResult, versus: Versus) -> str:
    """Why two senders are undecided although the interval of their difference excludes zero; otherwise empty."""
    net = versus.net
    if versus.relation != "open" or net.low <= 0 <= net.high:
        return ""
    number = len(result.population.base.senders)
    pairs, levels = number * (number - 1) // 2, 2 if result.network_criteria else 1
    tests = (
        f"{pairs} pair{'s' if pairs > 1 else ''} of senders{', on viewers and on the network' if levels > 1 else ''}"
    )
    return (
        f" On their own, {versus.sender} and {versus.other} would differ: helped minus harmed is {_points(net)}. Corrected for all the "
        f"comparisons made ({tests}), that is not proven at the 5 % level."
    )


def _more(result: PopulationResult, versus: Versus) -> str:
    own = result.population
    if versus.more_paths and result.units + versus.more_paths > own.max_units > result.units:
        return f" Even all {own.max_units:.0f} {own.unit_word} would probably not settle it: others are needed."
    if versus.more_paths:
        paths = "path" if versus.more_paths == 1 else "paths"
        return f" About {versus.more_paths} more {paths} would probably settle it."
    if result.units >= result.population.max_units:
        whole = "It is the only one there is" if result.units == 1 else f"All {_units(result)} are already included"
        return f" {whole}: only others could settle it."
    return ""


def fine_print(result: PopulationResult) -> str:
    """What the intervals are over, and which rule decided."""
    paths, sessions = result.paths.height, result.population.sessions
    what = _units(result)
    text = (
        f"{paths} paths, {sessions} session{'s' if sessions > 1 else ''} on each, every sender on the same ones. Intervals (95 %) are over "
        f"{what}. A viewer is served better or worse by {_rule(result)}."
    )
    if result.most is not None:
        text += _race(result)
    if result.best != result.baseline and len(result.senders) > 1:
        net = result.versus(result.best, result.baseline).net
        text += f" {result.best} against {result.baseline}, helped minus harmed: {_points(net)}."
        share = result.path_share(result.judged(result.best, result.baseline).score.astype(float))
        if share is not None:
            text += (
                f" {100 * share:.0f} % of the interval's variance is due to what the logs leave open about each viewer's path, the rest to "
                "differences between viewers."
            )
        elif result.variance is not None:
            text += f" {100 * result.variance:.0f} % of the variance of single sessions lies between paths."
    return text


def _race(result: PopulationResult) -> str:
    """How far the race went, which senders left it when, and whom its result is about."""
    looks = ", ".join(str(look) for look in result.looks)
    left = [f"{sender} after {paths}" for sender, paths in result.left.items()]
    gone = f"; eliminated: {listing(left)}" if left else ""
    text = f" A race: checked after {looks} of at most {result.most} paths{gone}."
    text += " All its conclusions hold together with 95 % confidence, however often one looks."
    if result.population.is_complete:
        text += (
            f" The result is about these {result.population.max_units:.0f} {result.population.unit_word} and no others."
        )
    return text


def _rule(result: PopulationResult) -> str:
    """The rule that decides how a viewer is served."""
    names = ", ".join(metric(name).label for name in result.viewer_criteria)
    first = f"the first of these that differs noticeably: {names}"
    prefer = result.population.base.prefer
    if prefer != "range":
        return f"{first}; {prefer} comes first"
    if any(name in result.viewer_criteria and result.table[name].n_unique() > 1 for name in _PICTURES):
        return f"what viewers weigh against each other (picture, stalls, waiting, switches), over the whole range of weights, then {first}"
    return first


def warnings(result: PopulationResult) -> list[str]:
    """Reasons why the answer may be weaker than it looks."""
    found = []
    if result.units < MIN_UNITS:
        found.append(
            f"only {_units(result)}: with fewer than {MIN_UNITS}, intervals are too narrow if viewers differ much"
        )
    if result.interrupted:
        found.append(f"interrupted: only {result.paths.height} of {result.population.paths} paths were finished")
    if result.failed.height:
        paths = result.failed["path"].n_unique()
        found.append(
            f"{result.failed.height} sessions failed; their {paths} paths are left out: {result.failed['error'][0]}"
        )
    if dominated := result.dominated():
        found.append(
            f"a single link or user makes up most of the difference in: {', '.join(dominated)}; trust the shares, not the means"
        )
    return found


def _units(result: PopulationResult) -> str:
    words = result.population.unit_word
    if result.units == 1:
        words = " ".join(word.removesuffix("s") for word in words.split())
    return f"{result.units} {words}"


def _percent(share: Estimate) -> str:
    return f"{100 * share.value:.0f} % ({100 * share.low:.0f} to {100 * share.high:.0f} %)"


def _points(net: Estimate) -> str:
    return f"{signed(100 * net.value)} points ({signed(100 * net.low)} to {signed(100 * net.high)})"
