"""Images as histograms of visual words: oriented gradients, in words found among the data user's images.

Each image becomes 36 descriptors of oriented gradients: blocks of two by two cells of four by four pixels, nine
directions. The words are the centres of their clusters, and an image is how often each word is nearest.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.cluster import KMeans

from veilboost.errors import UsageError

_CELL, _BLOCK = 4, 2
_AT_ONCE = 500
_DEGREES, _PIXELS = 10.0, 2.0

Images = NDArray[np.uint8]
Floats = NDArray[np.float64]


def enlarged(images: Images, count: int, seed: int) -> Images:
    """Return ``count`` images: those that there are, then copies of them, shifted and rotated at random.

    >>> enlarged(np.full((3, 28, 28), 9, dtype=np.uint8), 5, seed=0).shape
    (5, 28, 28)
    """
    random = np.random.default_rng(seed)
    more = random.integers(0, len(images), max(0, count - len(images)))
    copies = [_moved(images[each], *random.uniform(-1, 1, 3)) for each in more]
    return np.concatenate([images[:count], *(copy[None] for copy in copies)])


def _moved(image: Images, turn: float, down: float, right: float) -> Images:
    """Return an image that is turned about its middle, then shifted; what comes in from outside is black."""
    angle = np.deg2rad(_DEGREES * turn)
    matrix = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    middle = (np.array(image.shape) - 1) / 2
    offset = middle - matrix @ (middle + _PIXELS * np.array([down, right]))
    moved: Images = ndimage.affine_transform(image, matrix, offset=offset, order=1)
    return moved


def words(images: Images, count: int) -> KMeans:
    """Return a dictionary of ``count`` visual words, found among the descriptors of ``images``."""
    return KMeans(count, n_init=1, random_state=0).fit(np.concatenate(described(images)))


def histograms(images: Images, dictionary: KMeans) -> Floats:
    """Return how often each word is the nearest to a descriptor of each image, in shares of 1."""
    descriptors = described(images)
    nearest = dictionary.predict(descriptors.reshape(-1, descriptors.shape[2])).reshape(len(images), -1)
    return np.stack([(nearest == word).mean(axis=1) for word in range(dictionary.n_clusters)], axis=1)


def described(images: Images) -> Floats:
    """Return the descriptors of each image."""
    parts = [_strip(images[first : first + _AT_ONCE]) for first in range(0, len(images), _AT_ONCE)]
    return np.concatenate(parts)


def _strip(images: Images) -> Floats:
    """Return the descriptors of some images, which are laid side by side with a black cell between them."""
    try:
        from skimage.feature import hog
    except ImportError:
        raise UsageError("features of images need the extra 'studies': pip install 'veilboost[studies]'") from None
    count, side, _ = images.shape
    strip = np.zeros((side, count, side + _CELL))
    strip[:, :, :side] = images.transpose(1, 0, 2)
    found = hog(
        strip.reshape(side, -1),
        pixels_per_cell=(_CELL, _CELL),
        cells_per_block=(_BLOCK, _BLOCK),
        feature_vector=False,
    )
    blocks = side // _CELL - _BLOCK + 1
    places = np.arange(count)[:, None] * (side // _CELL + 1) + np.arange(blocks)
    descriptors: Floats = found[:, places].transpose(1, 0, 2, 3, 4, 5).reshape(count, blocks**2, -1)
    return descriptors
