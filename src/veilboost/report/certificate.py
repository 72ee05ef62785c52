"""Show a mechanism's certificate to a person: what was promised, what the integers give, what the noise looks like."""

from collections.abc import Iterator

from veilboost.mechanisms import Certificate, TableMechanism
from veilboost.report.terminal import bars, number, runs, say, spread, table


def show(found: Certificate, mechanism: TableMechanism) -> None:
    """Print ``found``, the certificate of ``mechanism``."""
    say(
        f"{found.mechanism}, {found.size} codes, nominal ε {number(found.nominal_epsilon)}",
        str(mechanism.definition),
        "",
        f"Exact loss between neighbouring codes, gap by gap: {runs(found.gaps)}",
        "",
        "Worst pair at each distance (losses rounded up; nominal is ε times the distance):",
    )
    table(("codes apart", "exact loss", "nominal", "order kept", "published bound"), _rows(found))
    say(*(f"Note: {note}." for note in _notes(found, flat=mechanism.table.flat)))
    middle = (found.size + 1) // 2
    say(
        "",
        f"Uniform input: expected weighted Kendall {found.expected_weighted_kendall:.4f}, "
        f"mean absolute noise {found.mean_absolute_noise:.4f} codes.",
        f"What leaves for code {middle} (height: probability; left to right: codes 1 to {found.size}):",
    )
    bars(mechanism.probabilities()[middle - 1])


def _rows(found: Certificate) -> Iterator[tuple[str, ...]]:
    bounds = found.order_preserving_bound_by_distance
    for t in spread(found.size - 1):
        nominal = found.nominal_epsilon if isinstance(found.nominal_epsilon, str) else found.nominal_epsilon * t
        kept = f"{found.order_preserving_by_distance[t - 1]:.4f}"
        bound = "–" if bounds is None else f"{bounds[t - 1]:.4f}"
        yield str(t), number(found.epsilon_by_distance[t - 1]), number(nominal), kept, bound


def _notes(found: Certificate, *, flat: bool) -> Iterator[str]:
    losses = [loss for loss in found.epsilon_by_distance if not isinstance(loss, str)]
    if flat and losses:
        yield (
            "far tails are thinner than 63-bit integers can say and have been made level, "
            f"so the loss saturates at {number(max(losses))}, below nominal"
        )
    if any(isinstance(loss, str) for loss in found.gaps):
        yield "across a gap of ∞ two codes are told apart with certainty: the group of a value is not protected"
    largest = max((gap for gap in found.gaps if not isinstance(gap, str)), default=0.0)
    if not isinstance(found.nominal_epsilon, str) and largest > found.nominal_epsilon:
        times = largest / found.nominal_epsilon
        yield f"some neighbours lose up to {number(largest)}, {times:.1f} times the nominal ε"
    bounds = found.order_preserving_bound_by_distance or []
    over = [
        t
        for t, (bound, kept) in enumerate(zip(bounds, found.order_preserving_by_distance, strict=False), 1)
        if bound > kept
    ]
    if over:
        count = f"{len(over)} distances, first at {over[0]}" if len(over) > 1 else f"distance {over[0]}"
        yield f"the published bound is no bound here: it exceeds the exact value at {count}"
