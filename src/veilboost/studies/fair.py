"""TightMap under the exact losses of Global-map and Local-map on large domains, in closed form.

The linear programmes of `veilboost.privacy` go to 256 codes. For these two rivals their solution is known at any size.

- *Same profile*: Global-map's loss ε(t) is concave in the distance t. Any order of the steps ε(t) - ε(t-1) as gaps
  keeps every window of t gaps at or below ε(t), the sum of the t largest. A gap counts more the nearer it is to the
  middle, so the best order falls from the middle to both ends.
- *Same pairs*: codes equally far from both ends lose exactly ε/2 for each code between them. The same ε/2 for every
  gap meets all these limits with equality, and breaks none of the others.
"""

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import GuaranteeError
from veilboost.mechanisms import BoundedLaplace, TightMap
from veilboost.studies.rivals import lengths

Floats = NDArray[np.float64]


def under_profile_of_global(epsilon: float, size: int) -> TightMap:
    """Return the best TightMap that loses no more than Global-map at any distance (comparison 2)."""
    rival = BoundedLaplace(epsilon=epsilon, size=size)
    return TightMap(gaps=falling_from_the_middle([rival.epsilon_at(t) for t in range(1, size)]))


def under_pairs_of_global(epsilon: float, size: int) -> TightMap:
    """Return the best TightMap that loses no more than Global-map between any two codes (comparison 3)."""
    return TightMap(epsilon=epsilon / 2, size=size)


def under_pairs_of_local(epsilon: float, size: int, theta: int) -> TightMap:
    """Return the best TightMap that loses no more than Local-map between any two codes: as Global-map, in groups."""
    return TightMap.grouped(lengths(size, theta), inside=epsilon / 2, between=np.inf)


def falling_from_the_middle(losses: list[float]) -> tuple[float, ...]:
    """Return symmetric gaps with no more than ``losses``, a concave list, in windows of 1, 2, … of them.

    >>> [round(gap, 6) for gap in falling_from_the_middle([1.0, 1.5, 1.75])]
    [0.375, 1.0, 0.375]
    """
    steps = np.diff(losses, prepend=0.0)
    if (np.diff(steps) > 1e-9 * steps[0]).any():
        raise GuaranteeError("losses that are not concave have no best gaps in closed form")
    order = np.concatenate((np.arange(len(steps))[1::2][::-1], np.arange(len(steps))[::2]))
    gaps = (steps[order] + steps[order][::-1]) / 2
    before = np.concatenate(([0.0], np.cumsum(gaps)))
    used = max(float((before[t:] - before[:-t]).max()) / loss for t, loss in enumerate(losses, 1))
    return tuple((gaps * (1 - 2.0**-40) / max(1.0, used)).tolist())
