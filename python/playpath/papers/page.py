"""The page of a study: the claims with their verdicts, every figure, and the parameters that the paper leaves unstated."""

from collections import Counter
from html import escape

from playpath.papers.claims import VERDICTS, CheckResult, ClaimResult
from playpath.papers.effects import describe
from playpath.papers.figures import draw
from playpath.papers.grids import current_senders_grid, joint_grid
from playpath.papers.joint_space import Joint, inside
from playpath.papers.modern_senders import HEAD, table_rows
from playpath.papers.runner import StudyResult
from playpath.papers.study import FigureSpec
from playpath.show.report import html
from playpath.show.report.drawings import figure_svg


def study_page(result: StudyResult, joint: Joint | None = None) -> str:
    sections = [
        _head(result),
        _claims(result),
        _current_senders(result),
        _checks(result),
        _figures(result),
        _unstated(result),
        *([] if joint is None else [_joint(joint)]),
        _manifest(result),
    ]
    return html.page(f"{result.study.title}: what reproduces", sections)


def _head(result: StudyResult) -> str:
    counts = Counter(claim.verdict for claim in result.claims)
    verdict = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v])
    quick = (
        f" Quick run: {result.share:.0%} of the media; its verdicts are not the paper's. {result.study.short}".rstrip()
    )
    share = "" if result.share == 1 else quick
    cut = (
        f" {result.cut} of them were cut off before their end and count only what had arrived by then."
        if result.cut
        else ""
    )
    own = ", ".join(f"{knob} = {value}" for knob, value in result.settings.items())
    own = f" With values of your own: {own}; its verdicts are not the study's." if own else ""
    facts = f"{result.study.paper}. {result.table.height} sessions, {result.seeds} seeds a case.{cut}{share}{own}"
    return (
        f"<header><p class='kicker'>playpath reproduce</p><h1>{escape(result.study.title)}</h1>"
        f"<p class='verdict decided'>{escape(verdict)} of {len(result.claims)} claims</p>"
        f"<p class='note'>{escape(facts)}</p></header>"
    )


def _claims(result: StudyResult) -> str:
    rows = [_claim(claim) for claim in result.claims]
    note = (
        "The deciding check of each claim: mean, 95 % interval paired by seed (two one-sided 95 % bounds where the check has one; "
        "the exact binomial bound where a rare event is equal in all seeds), how far outside its bound the mean is, and what the "
        "viewer sees of the cases compared. A check refutes its claim only if it is significant among all of the claim's (Holm)."
    )
    head = ["claim", "statement", "verdict", "what decides", "distance", "the viewer sees"]
    return html.section("Claims", html.table(head, rows, classes="words cards"), note=note)


def _claim(claim: ClaimResult) -> list[str]:
    deciding = claim.deciding
    decides = f"<span>{escape(deciding.check.says)}<br><small>{escape(deciding.figures())}</small></span>"
    distance = f"{deciding.distance:.3g}" if deciding.distance else "–"
    if claim.verdict == "rests on our guard" and claim.unguarded is not None:
        decides += f"<br><small>without our guard: {escape(claim.unguarded.figures())}</small>"
    if claim.verdict.endswith("by count only") and claim.unseen is not None:
        decides += f"<br><small>by viewing: {escape(claim.unseen.check.says)}: {escape(claim.unseen.figures())}</small>"
    head = [claim.claim.id, claim.claim.statement]
    return [*map(escape, head), f"<b>{claim.verdict}</b>", decides, distance, escape(claim.seen) or "–"]


def _checks(result: StudyResult) -> str:
    rows = [_check(claim, check) for claim in result.claims for check in claim.checks]
    body = html.table(["claim", "check", "metric", "verdict", "figures"], rows, classes="words cards")
    readings = "".join(
        f"<li><b>{escape(c.claim.id)}</b>: {escape(c.claim.reading)}</li>" for c in result.claims if c.claim.reading
    )
    return html.section("How each claim was read", f"<ul>{readings}</ul>" + html.details("Every check", body))


def _check(claim: ClaimResult, check: CheckResult) -> list[str]:
    cells = (claim.claim.id, check.check.says, check.check.metric, check.verdict, check.figures())
    return [escape(cell) for cell in cells]


def _current_senders(result: StudyResult) -> str:
    scenes, today = result.scenes, result.study.current_senders
    if today is None or not result.is_whole:
        return ""
    rows = [[escape(cell) for cell in row[:-1]] for row in table_rows(scenes, today)]
    figure = figure_svg(
        current_senders_grid(scenes, today), f"{result.study.name}: which sender is best today", is_full=True
    )
    words = "".join(f"<li><b>{escape(scene.name)}</b>: {escape(scene.says)}</li>" for scene in scenes)
    note = "Ranked as playpath compare ranks: by what the viewer sees first, then by what it costs the network."
    body = (
        figure
        + html.table(list(HEAD[:-1]), rows, classes="words cards")
        + html.details("In words", f"<ul>{words}</ul>")
    )
    return html.section("Which sender is best today", body, note=note)


def _figures(result: StudyResult) -> str:
    if not result.is_whole:
        says = "The figures, and which sender is best today, need more sessions than the claims: add --figures."
        return html.section("Figures", f"<p class='note'>{says}</p>")
    note = "Whiskers: smallest and largest of the trials, or the 95 % interval of the mean, as in the paper."
    return html.section("Figures", "".join(_figure(result, spec) for spec in result.study.figures), note=note)


def _figure(result: StudyResult, spec: FigureSpec) -> str:
    kind = "Cause" if spec.id.startswith("t") else "Figure"
    caption = f"<h3>{kind} {escape(spec.id)}: {escape(spec.title)}</h3>"
    return caption + figure_svg(draw(result.ran, spec), f"{result.study.name} {spec.id}: {spec.title}")


def _unstated(result: StudyResult) -> str:
    rows = [
        [
            escape(u.name),
            escape(u.value),
            escape(u.reason),
            escape(u.listed) or "–",
            escape(u.source),
        ]
        for u in result.study.unstated
    ]
    note = "All choices are listed here; --joint varies them over these ranges. Nothing else was adjusted."
    body = html.table(["parameter", "value", "reason", "varied over", "because"], rows, classes="words cards")
    return html.section("What the paper leaves unstated", body, note=note)


def _joint(found: Joint) -> str:
    claims = {claim.claim.id: claim.verdict for claim in found.result.claims}
    best = {claim.claim.id: claim.verdict for claim in (found.best.claims if found.best else ())}
    rows = []
    for claim in found.study.claims:
        share, low, high = found.share_of(claim.id)
        depends = "; ".join(describe(effect) for effect in found.effects[claim.id]) or "–"
        region = found.regions[claim.id]
        where = f"{region.says}: {inside(region)}" if region.conditions else region.says
        of_space = f"{share:.0%} ({low:.0%} to {high:.0%})"
        cells = (claim.id, claims[claim.id], of_space, where, best.get(claim.id, "–"), depends)
        rows.append([escape(cell) for cell in cells])
    figure = figure_svg(joint_grid(found), f"{found.study.name}: the joint space", is_full=True)
    note = (
        f"{found.filling} points that fill the space of all unstated parameters evenly, and "
        f"{len(found.points) - found.filling} where a claim's verdict changes; {found.seeds} seeds a case, {found.share:.0%} of "
        f"the media. The best set ran in full. {found.machine_s / 60:.0f} minutes of processor time."
    )
    head = ["claim", "at the base", "of the space", "where", "at the best set", "depends on"]
    table = html.table(head, rows, classes="words cards")
    return html.section("All unstated parameters together", figure + table + _best(found), note=note)


def _best(found: Joint) -> str:
    if found.best is None or found.undone is None:
        return ""
    rows = [
        [
            escape(parameter.name),
            escape(f"{found.best.settings[parameter.knob]} {parameter.unit}".strip()),
            escape(f"{parameter.chosen} {parameter.unit}".strip()),
            escape(", ".join(found.undone[parameter.knob]) or "–"),
        ]
        for parameter in found.study.swept
    ]
    head = ["parameter", "in the best set", "at the base", "lost with the base's value"]
    says = "Such a set exists; that does not mean that the authors used it."
    return f"<h3>The set that reproduces most claims</h3><p class='note'>{says}</p>" + html.table(
        head, rows, classes="words cards"
    )


def _manifest(result: StudyResult) -> str:
    stored = {k: v for k, v in result.to_dict().items() if k != "claims"}
    return html.section("How to reproduce this", html.document(stored))
