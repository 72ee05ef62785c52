"""Show a mechanism's certificate to a person: what was promised, what the integers give, what the noise looks like."""

import math
from collections.abc import Iterator

from veilboost.mechanisms import Certificate, TableMechanism
from veilboost.privacy import ApproximateDP, Definition
from veilboost.report.terminal import bars, number, runs, say, spread, table

_FLOAT_NOISE = 1e-9


def show(found: Certificate, mechanism: TableMechanism) -> None:
    """Print ``found``, the certificate of ``mechanism``."""
    say(
        f"{found.mechanism}, {found.size} codes, nominal ε {number(found.nominal_epsilon)}",
        str(mechanism.definition),
        "",
        f"Exact loss between neighbouring codes, gap by gap: {runs(found.gaps)}",
        "",
        "Worst pair at each distance (losses rounded up; stated is what the definition allows, nominal ε times the "
        "distance):",
    )
    headers = ("codes apart", "exact loss", "stated", "nominal", "order kept", "published bound")
    table(headers, _rows(found, mechanism.definition))
    say(*(f"Note: {note}." for note in _notes(found, flat=mechanism.table.flat)))
    middle = (found.size + 1) // 2
    say(
        "",
        f"Uniform input: expected weighted Kendall {found.expected_weighted_kendall:.4f}, "
        f"mean absolute noise {found.mean_absolute_noise:.4f} codes.",
        f"What leaves for code {middle} (height: probability; left to right: codes 1 to {found.size}):",
    )
    bars(mechanism.probabilities()[middle - 1])


def _rows(found: Certificate, definition: Definition) -> Iterator[tuple[str, ...]]:
    bounds = found.order_preserving_bound_by_distance
    for t in spread(found.size - 1):
        stated = None if isinstance(definition, ApproximateDP) else definition.loss(t)
        losses = (found.epsilon_by_distance[t - 1], stated, found.nominal_epsilon * t)
        kept = f"{found.order_preserving_by_distance[t - 1]:.4f}"
        bound = "–" if bounds is None else f"{bounds[t - 1]:.4f}"
        yield str(t), *map(number, losses), kept, bound


def _notes(found: Certificate, *, flat: bool) -> Iterator[str]:
    losses = [loss for loss in found.epsilon_by_distance if math.isfinite(loss)]
    if flat and losses:
        yield (
            "far tails are thinner than 63-bit integers can say and have been made level, "
            f"so the loss saturates at {number(max(losses))}, below nominal"
        )
    if math.inf in found.gaps:
        yield "across a gap of ∞ two codes are told apart with certainty: the group of a value is not protected"
    largest = max((gap for gap in found.gaps if math.isfinite(gap)), default=0.0)
    if largest > found.nominal_epsilon:
        times = largest / found.nominal_epsilon
        yield f"some neighbours lose up to {number(largest)}, {times:.1f} times the nominal ε"
    bounds, kept = found.order_preserving_bound_by_distance or [], found.order_preserving_by_distance
    over = [t for t, bound in enumerate(bounds, 1) if bound > kept[t - 1] + _FLOAT_NOISE]
    if over:
        count = f"{len(over)} distances, first at {over[0]}" if len(over) > 1 else f"distance {over[0]}"
        yield f"the published bound is no bound here: it exceeds the exact value at {count}"
