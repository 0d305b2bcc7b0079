"""The functions of `pytreegrav <https://pypi.org/project/pytreegrav>`_ for gravity, on Kyoho::

    from kyoho.compat.pytreegrav import Accel, AccelTarget, Potential, PotentialTarget

They have the parameters of pytreegrav 1.5 in its order, take anything that numpy can make arrays of
and return arrays of numpy. They differ in this:

- **Softening.** pytreegrav's is the cubic spline, in which ``softening`` is the radius of a body.
  Here it is Plummer's with ``eps = softening / 2.8``, which has the same potential at the centre of
  a body. Forces without softening are the same; with it they differ by 2 % at three radii, by 17 %
  at one, and more within. All bodies have to have one softening.
- **Trees.** ``theta`` is the opening angle, from 0.1 to 1.5; smaller ones sum directly and larger
  ones mean 1.5. Errors are below pytreegrav's at the same angle. ``tree`` has to be None, and
  ``return_tree`` gives None for a tree: Kyoho builds one in each call. Few pairs are summed
  directly.
- ``parallel``, ``quadrupole`` and ``group_size`` have no effect: threads are those of
  ``KYOHO_THREADS``, or all. ``device="cuda"`` asks for a GPU; ``"cpu"`` takes what
  ``KYOHO_BACKEND`` says, else the first backend that has a device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from .._arrays import numbers
from .._errors import Error
from .._gravity import gravity
from .._numbers import integer, number
from .._places import masses_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[numpy.float64]

__all__ = ["Accel", "AccelTarget", "Potential", "PotentialTarget"]

# The radius of the spline's body over Plummer's softening length: its potential at the centre is
# -2.8 m / radius.
_RADIUS = 2.8
_METHODS = ("adaptive", "bruteforce", "tree")
_DEVICES = {"cpu": None, "cuda": "cuda"}


def Accel(
    pos: Any,
    m: Any,
    softening: Any = None,
    G: float = 1.0,
    theta: float = 0.7,
    tree: None = None,
    return_tree: bool = False,
    parallel: bool = False,
    method: str = "adaptive",
    quadrupole: bool = False,
    group_size: int = 8,
    device: str = "cpu",
) -> Any:
    """The accelerations ``(n, 3)`` of bodies at ``pos`` ``(n, 3)`` with the masses ``m`` ``(n,)``.

    >>> from kyoho.compat.pytreegrav import Accel
    >>> Accel([[0, 0, 0], [2, 0, 0]], [1, 1], G=4)
    array([[ 1.,  0.,  0.],
           [-1.,  0.,  0.]])
    """
    accelerations, _ = _bodies(pos, m, softening, theta, tree, method, device)
    return _answer(accelerations, G, group_size, return_tree)


def Potential(
    pos: Any,
    m: Any,
    softening: Any = None,
    G: float = 1.0,
    theta: float = 0.7,
    tree: None = None,
    return_tree: bool = False,
    parallel: bool = False,
    method: str = "adaptive",
    quadrupole: bool = False,
    group_size: int = 8,
    device: str = "cpu",
) -> Any:
    """The potentials ``(n,)`` at bodies at ``pos`` ``(n, 3)`` with the masses ``m`` ``(n,)``."""
    _, potentials = _bodies(pos, m, softening, theta, tree, method, device)
    return _answer(potentials, G, group_size, return_tree)


def AccelTarget(
    pos_target: Any,
    pos_source: Any,
    m_source: Any,
    softening_target: Any = None,
    softening_source: Any = None,
    G: float = 1.0,
    theta: float = 0.7,
    tree: None = None,
    return_tree: bool = False,
    parallel: bool = False,
    method: str = "adaptive",
    quadrupole: bool = False,
    group_size: int = 8,
) -> Any:
    """The accelerations ``(n, 3)`` at ``pos_target`` ``(n, 3)`` by sources at ``pos_source``
    ``(m, 3)`` with the masses ``m_source`` ``(m,)``.
    """
    places, sources, masses, eps, theta_or_none = _targets(
        pos_target, pos_source, m_source, softening_target, softening_source, theta, tree, method
    )
    accelerations = gravity(sources, masses, eps, at=places, theta=theta_or_none, potential=False)
    return _answer(accelerations, G, group_size, return_tree)


def PotentialTarget(
    pos_target: Any,
    pos_source: Any,
    m_source: Any,
    softening_target: Any = None,
    softening_source: Any = None,
    G: float = 1.0,
    theta: float = 0.7,
    tree: None = None,
    return_tree: bool = False,
    parallel: bool = False,
    method: str = "adaptive",
    quadrupole: bool = False,
    group_size: int = 8,
) -> Any:
    """The potentials ``(n,)`` at ``pos_target`` ``(n, 3)`` by sources at ``pos_source`` ``(m, 3)``
    with the masses ``m_source`` ``(m,)``. A source at the place of a target does not count.
    """
    places, sources, masses, eps, theta_or_none = _targets(
        pos_target, pos_source, m_source, softening_target, softening_source, theta, tree, method
    )
    _, potentials = gravity(sources, masses, eps, at=places, theta=theta_or_none)
    if eps > 0:
        potentials += masses_at(places, sources, masses) / eps
    return _answer(potentials, G, group_size, return_tree)


def _bodies(
    pos: Any, m: Any, softening: Any, theta: float, tree: None, method: str, device: str
) -> tuple[Numbers, Numbers]:
    positions = _rows("pos", pos)
    masses = _elements("m", m, len(positions))
    eps = _eps("softening", softening, len(positions))
    if not isinstance(device, str) or device not in _DEVICES:
        raise Error(f"device is {device!r}; allowed: 'cpu', 'cuda'")
    angle = _angle(theta, tree, method, len(positions) > 1000)
    return gravity(positions, masses, eps, theta=angle, backend=_DEVICES[device])


def _targets(
    pos_target: Any,
    pos_source: Any,
    m_source: Any,
    softening_target: Any,
    softening_source: Any,
    theta: float,
    tree: None,
    method: str,
) -> tuple[Numbers, Numbers, Numbers, float, float | None]:
    places, sources = _rows("pos_target", pos_target), _rows("pos_source", pos_source)
    masses = _elements("m_source", m_source, len(sources))
    # A pair has the larger one of its two.
    eps = max(
        _eps("softening_target", softening_target, len(places)),
        _eps("softening_source", softening_source, len(sources)),
    )
    is_large = len(places) * len(sources) > 10**6
    return places, sources, masses, eps, _angle(theta, tree, method, is_large)


def _angle(theta: float, tree: None, method: str, is_large: bool) -> float | None:
    """The opening angle; None for direct sums."""
    if tree is not None:
        raise Error("tree is not None; allowed: None, as each call builds its own")
    theta = number("theta", theta, least=0)
    if not isinstance(method, str) or method not in _METHODS:
        raise Error(f"method is {method!r}; allowed: 'adaptive', 'bruteforce', 'tree'")
    if method == "bruteforce" or (method == "adaptive" and not is_large) or theta < 0.1:
        return None
    return min(theta, 1.5)


def _rows(name: str, array: Any) -> Numbers:
    rows = _numbers(name, array)
    if rows.ndim == 1:
        rows = rows[numpy.newaxis]
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise Error(f"{name} has the shape {rows.shape}; allowed: (n, 3)")
    return rows


def _elements(name: str, array: Any, count: int) -> Numbers:
    elements = numpy.atleast_1d(_numbers(name, array))
    if elements.shape != (count,):
        raise Error(f"{name} has the shape {elements.shape}; allowed: ({count},)")
    return elements


def _numbers(name: str, array: Any) -> Numbers:
    found: Numbers = numbers(name, array)
    return found


def _eps(name: str, softening: Any, count: int) -> float:
    """Plummer's softening length."""
    if softening is None or count == 0:
        return 0.0
    radii = _numbers(name, softening)
    if radii.shape not in ((), (1,), (count,)):
        raise Error(f"{name} has the shape {radii.shape}; allowed: ({count},)")
    least, most = float(numpy.min(radii)), float(numpy.max(radii))
    if least != most:
        raise Error(f"{name} is from {least} to {most}; allowed: one softening for all")
    return number(name, most, least=0) / _RADIUS


def _answer(result: Numbers, G: float, group_size: int, return_tree: bool) -> Any:
    integer("group_size", group_size)
    result = number("G", G) * result
    return (result, None) if return_tree else result
