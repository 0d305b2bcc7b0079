"""Bodies from files, and files of bodies."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from . import _file_names as names
from ._errors import Error, Result
from ._file_texts import identifiers_of, parse
from ._numbers import FLOAT64, INT64, number_or_none, readable
from ._units import gravitational_constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HDF5 = b"\x89HDF\r\n\x1a\n"
_ALLOWED = "".join(names.FORMATS)


class Snapshot(NamedTuple):
    """The bodies of a file.

    ===============  ============  =======================================================
    attribute        shape
    ===============  ============  =======================================================
    ``masses``       ``(n,)``
    ``positions``    ``(n, 3)``
    ``velocities``   ``(n, 3)``
    ``identifiers``  ``(n,)``      int64, or uint64 where some are larger; None without any
    ``time``                       in the file's unit of time; None if it tells none
    ``units``                      a text that ``units=`` takes; None if it tells none
    ``eps``          ``(n,)``      the softening length of each body; None without any
    ===============  ============  =======================================================
    """

    masses: NDArray[numpy.float64]
    positions: NDArray[numpy.float64]
    velocities: NDArray[numpy.float64]
    identifiers: NDArray[Any] | None
    time: float | None
    units: str | None
    eps: NDArray[numpy.float64] | None = None


def read(path: str | os.PathLike[str]) -> Snapshot:
    """The bodies of a file, whose format is found out: texts and HDF5 of Kyoho, HDF5 of Gadget, SWIFT,
    AREPO and AMUSE, NBODY6's ``dat.10``, tables of McLuster and others with names of columns. The
    path ``-`` is the standard input. HDF5 needs the package ``h5py``.

    Numbers are those of the file, in its ``units``. Files of cosmological runs are refused.

    >>> import os, tempfile, kyoho
    >>> path = os.path.join(tempfile.mkdtemp(), "stars.txt")
    >>> kyoho.write(path, [[0, 0, 0], [1, 0, 0]], [1, 2], units="pc Msun km/s")
    >>> stars = kyoho.read(path)
    >>> stars.masses, stars.units
    (array([1., 2.]), 'pc Msun km/s')
    """
    name = _path(path)
    content = _bytes(name)
    if _HDF5 in (content[place : place + 8] for place in (0, 512, 1024, 2048)):
        found = _of_hdf5(name, content)
    else:
        found = _of_text(name, content)
    if len(found.masses) == 0:
        raise Error(f"{name}: there are no bodies in it")
    arrays = (found.masses, found.positions, found.velocities, found.eps)
    for what, array in zip(("masses", "positions", "velocities", "softenings"), arrays):
        if array is not None and not numpy.isfinite(array).all():
            raise Error(f"{name}: of the {what} some are not finite; allowed: finite numbers", Result.NOT_FINITE)
    for what, array in (("mass", found.masses), ("softening", found.eps)):
        if array is not None and array.min() < 0:
            place = int(numpy.argmax(array < 0))
            raise Error(f"{name}: the {what} of body {place + 1} is {array[place]}; allowed: zero and above")
    if found.time is not None and not numpy.isfinite(found.time):
        raise Error(f"{name}: the time is {found.time}; allowed: finite numbers", Result.NOT_FINITE)
    if found.units is not None:
        try:
            gravitational_constant(found.units)
        except Error as error:
            raise Error(f"{name}: {error}") from None
    return found


def write(
    path: str | os.PathLike[str],
    positions: Any,
    masses: Any,
    velocities: Any = None,
    *,
    identifiers: Any = None,
    time: float | None = None,
    units: str | None = None,
    eps: Any = None,
) -> None:
    """Writes bodies to a file that :func:`read` and ``kyoho run`` read with the same bits: in HDF5 where its
    name ends in ``.h5`` or ``.hdf5``, else as a text. Velocities that are not given are zero. ``eps`` are the
    softening lengths of bodies that have their own."""
    name = _path(path)
    mass = readable("masses", masses, FLOAT64)
    if mass.ndim != 1:
        raise Error(f"masses has the shape {mass.shape}; allowed: (n,)", Result.BAD_COUNT)
    if len(mass) == 0:
        raise Error("there are no bodies; allowed: one or more, as a file has them", Result.BAD_COUNT)
    arrays = {"masses": mass}
    given = {"positions": positions, "velocities": velocities}
    for what, array in given.items():
        found = numpy.zeros((len(mass), 3)) if array is None else readable(what, array, FLOAT64)
        arrays[what] = _of_shape(what, found, (len(mass), 3))
    if eps is not None:
        arrays["eps"] = _of_shape("eps", readable("eps", eps, FLOAT64), (len(mass),))
        if (arrays["eps"] < 0).any():
            raise Error("eps has a number below zero; allowed: zero and above")
    for what, array in arrays.items():
        if not numpy.isfinite(array).all():
            raise Error(f"{what} has a number that is not finite; allowed: finite numbers", Result.NOT_FINITE)
    if mass.min() < 0:
        raise Error(f"masses has the number {mass.min()}; allowed: zero and above")
    if identifiers is not None:
        arrays["identifiers"] = _of_shape("identifiers", readable("identifiers", identifiers, INT64), (len(mass),))
    if units is not None:
        gravitational_constant(units)
        units = " ".join(units.split())
    settings = {"time": number_or_none("time", time), "units": units}
    settings = {key: value for key, value in settings.items() if value is not None}
    try:
        if os.path.splitext(name)[1].lower() in (".h5", ".hdf5"):
            with _h5py(name).File(name, "w") as file:
                file.attrs.update(settings)
                for what, array in arrays.items():
                    file[what] = array
        else:
            _write_text(name, arrays, settings)
    except (OSError, ValueError) as error:
        raise Error(f"{name}: {error}") from error


def _write_text(name: str, arrays: dict[str, Any], settings: dict[str, Any]) -> None:
    has_names = "identifiers" in arrays
    of_eps = [arrays["eps"]] if "eps" in arrays else []
    columns = numpy.column_stack([arrays["masses"], arrays["positions"], arrays["velocities"], *of_eps]).tolist()
    with open(name, "w", encoding="ascii") as file:
        for key, value in settings.items():
            file.write(f"# {key} {value}\n")
        file.write(f"# mass x y z vx vy vz{' eps' if of_eps else ''}{' identifier' if has_names else ''}\n")
        of_each = [f" {found}" for found in arrays["identifiers"].tolist()] if has_names else [""] * len(columns)
        file.writelines(" ".join(map(repr, row)) + identifier + "\n" for row, identifier in zip(columns, of_each))


def _of_shape(what: str, array: Any, wanted: tuple[int, ...]) -> Any:
    if array.shape != wanted:
        raise Error(f"{what} has the shape {array.shape}; allowed: {wanted}", Result.BAD_COUNT)
    return array


def _path(path: Any) -> str:
    try:
        name = os.fsdecode(os.fspath(path))
    except TypeError:
        name = "\0"
    # HDF5 would take what stands before a null character.
    if "\0" in name:
        raise Error(f"path is {path!r}; allowed: the name of a file")
    return name


def _bytes(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        with open(name, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise Error(f"{name}: {error}") from error


def _of_text(name: str, content: bytes) -> Snapshot:
    for beginning, what in names.OTHERS:
        if content.startswith(beginning):
            raise Error(f"{name}: it looks like {what}; allowed: {_ALLOWED}")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Error(f"{name}: it is a text in UTF-16; allowed: UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len(re.split(rb"\r\n?|\n", content[: error.start]))
        raise Error(f"{name}, line {line}: it has a byte that is not text; allowed: UTF-8") from None
    # Files of old systems end lines with a carriage return alone.
    text = re.sub(r"\r(?!\n)", "\n", text)
    rows, identifiers, time, units, eps = parse(name, text, allows_more=name.endswith(".10"))
    return Snapshot(rows[:, 0].copy(), rows[:, 1:4].copy(), rows[:, 4:].copy(), identifiers, time, units, eps)


def _h5py(name: str) -> Any:
    try:
        import h5py
    except ImportError:
        raise Error(f"{name}: HDF5 needs the package h5py; `pip install h5py` brings it") from None
    return h5py


def _of_hdf5(name: str, content: bytes) -> Snapshot:
    import io

    h5py = _h5py(name)
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            for is_it, bodies in _LAYOUTS:
                if is_it(file):
                    return bodies(file)
            found = ", ".join(list(file)[:8]) or "nothing"
    except Error as error:
        raise Error(f"{name}: {error}") from None
    except Exception as error:
        # What is damaged is found in many ways.
        raise Error(f"{name}: it cannot be read as HDF5: {error}") from error
    raise Error(f"{name}: it is HDF5 with {found}; allowed: {_ALLOWED}")


# No filter makes its output longer than this many times its input: deflate's worst case is 1032.
_MOST_INFLATED = 1040


def _numbers(file: Any, path: str, width: int, count: int | None) -> Any:
    """The numbers of a dataset."""
    if path not in file:
        raise Error(f"the dataset '{path}' is not there")
    dataset = file[path]
    shape = getattr(dataset, "shape", None)
    count = shape[0] if count is None and shape else count
    wanted = (count,) if width == 1 else (count, width)
    if shape != wanted:
        raise Error(f"the dataset '{path}': its shape is {shape}; allowed: {str(wanted).replace('None', 'n')}")
    if dataset.dtype.kind not in "fiu":
        raise Error(f"the dataset '{path}': it is of {dataset.dtype}; allowed: numbers")
    if dataset.is_virtual or dataset.external:
        raise Error(f"the dataset '{path}': its numbers are in other files; allowed: files that have their numbers")
    length = file.id.get_filesize()
    if dataset.nbytes > _MOST_INFLATED * length:
        raise Error(f"the dataset '{path}': it has {count} rows, more than a file of {length} bytes can have")
    return dataset[()].astype(numpy.float64)


def _identifiers(file: Any, path: str | None, count: int) -> Any:
    """The numbers of a dataset of identifiers; None if there is none of integers."""
    shape = getattr(file[path], "shape", None) if path is not None and path in file else None
    if shape is None or path is None:
        return None
    if shape != (count,):
        raise Error(f"the dataset '{path}': its shape is {shape}; allowed: {(count,)}")
    return file[path][()] if file[path].dtype.kind in "iu" else None


def _attribute(file: Any, path: str, name: str) -> Any:
    """An attribute, of which an array of one number is the number."""
    found = file[path].attrs.get(name) if path in file else None
    if isinstance(found, bytes):
        return found.decode("utf-8", "replace")
    return found.reshape(-1)[0] if isinstance(found, numpy.ndarray) and found.size == 1 else found


def _number(file: Any, path: str, name: str) -> float | None:
    found = _attribute(file, path, name)
    return float(found) if numpy.ndim(found) == 0 and isinstance(found, (int, float, numpy.number)) else None


def _is_own(file: Any) -> bool:
    return any(name in file for name in ("masses", "positions", "velocities"))


def _own(file: Any) -> Snapshot:
    masses = _numbers(file, "masses", 1, None)
    positions, velocities = (_numbers(file, name, 3, len(masses)) for name in ("positions", "velocities"))
    identifiers = identifiers_of([_identifiers(file, "identifiers", len(masses))])
    time, units = _number(file, "/", "time"), _attribute(file, "/", "units")
    softenings = _first(file, names.SOFTENINGS)
    eps = None if softenings is None else _numbers(file, softenings, 1, len(masses))
    return Snapshot(masses, positions, velocities, identifiers, time, units, eps)


def _is_gadget(file: Any) -> bool:
    return any(name in file for name in names.GADGET_TYPES)


def _first(group: Any, wanted: tuple[str, ...]) -> str | None:
    return next((name for name in wanted if name in group), None)


def _gadget(file: Any) -> Snapshot:
    files = _number(file, "Header", "NumFilesPerSnapshot") or 1
    if files > 1:
        raise Error(f"it is one of {files:g} files of a snapshot; allowed: snapshots in one file")
    _refuse_cosmology(file)
    table: Any = numpy.atleast_1d(file["Header"].attrs.get("MassTable", [])) if "Header" in file else []
    counts: Any = numpy.atleast_1d(file["Header"].attrs.get("NumPart_ThisFile", [])) if "Header" in file else []
    parts, units, first = [], None, True
    for place, name in enumerate(names.GADGET_TYPES):
        told = int(counts[place]) if place < len(counts) else None
        if name not in file:
            if told:
                allowed = "groups in the file itself, no links to others"
                raise Error(f"its header tells of {told} bodies of '{name}', which is not there; allowed: {allowed}")
            continue
        group = file[name]
        mass = float(table[place]) if place < len(table) else 0.0
        of_masses = _first(group, names.GADGET_MASSES)
        of_positions = _first(group, names.GADGET_POSITIONS)
        if of_positions is None:
            if mass == 0 and of_masses is None:
                # Tracers of AREPO have neither a mass nor a place.
                continue
            raise Error(f"the group '{name}' has no dataset {' or '.join(names.GADGET_POSITIONS)}")
        positions = _numbers(file, f"{name}/{of_positions}", 3, None)
        if told is not None and told != len(positions):
            found = f"the dataset '{name}/{of_positions}' has {len(positions)} rows"
            raise Error(f"{found}; allowed: {told}, as NumPart_ThisFile of its header tells")
        of_velocities = _first(group, names.GADGET_VELOCITIES)
        if of_velocities is None:
            raise Error(f"the group '{name}' has no dataset {' or '.join(names.GADGET_VELOCITIES)}")
        velocities = _numbers(file, f"{name}/{of_velocities}", 3, len(positions))
        if of_masses is not None:
            masses = _numbers(file, f"{name}/{of_masses}", 1, len(positions))
        elif mass or not len(positions):
            masses = numpy.full(len(positions), mass)
        else:
            allowed = f"{', '.join(names.GADGET_MASSES)} in it, or a mass in Header/MassTable"
            raise Error(f"the group '{name}' has no masses; allowed: {allowed}")
        of_identifiers = _first(group, names.GADGET_IDENTIFIERS)
        path = f"{name}/{of_identifiers}" if of_identifiers else None
        identifiers = _identifiers(file, path, len(positions))
        parts.append((masses, positions, velocities, identifiers))
        if first:
            units, first = _gadget_units(file, f"{name}/{of_positions}"), False
    if not parts:
        raise Error("there are no bodies in it")
    masses, positions, velocities = (numpy.concatenate([part[place] for part in parts]) for place in range(3))
    identifiers = identifiers_of([part[3] for part in parts])
    return Snapshot(masses, positions, velocities, identifiers, _number(file, "Header", "Time"), units)


def _refuse_cosmology(file: Any) -> None:
    """Where a file does not say so, the time of a cosmological run is the scale factor that belongs to its
    redshift."""
    told = (_number(file, group, name) for group, name in names.GADGET_COSMOLOGICAL)
    is_cosmological = next((found for found in told if found is not None), None)
    time, redshift = (_number(file, "Header", name) for name in ("Time", "Redshift"))
    if is_cosmological is None:
        if time is None or redshift is None:
            return
        has_matter = (_number(file, "Header", "Omega0") or 0.0) > 0
        is_cosmological = abs(time * (1 + redshift) - 1) < 1e-5 and (redshift != 0 or has_matter)
    if is_cosmological:
        scale = "unknown" if redshift is None else f"{1 / (1 + redshift):g}"
        raise Error(
            f"it is of a cosmological run in comoving coordinates, with the scale factor {scale}; allowed: runs "
            "without expansion, or a copy in physical coordinates whose velocities include Hubble's flow"
        )


def _gadget_units(file: Any, positions: str) -> str | None:
    for group, *attributes, unit in names.GADGET_UNITS:
        sizes = [size for name in attributes if (size := _number(file, group, name)) is not None]
        if len(sizes) < 3:
            continue
        length, mass, last = sizes
        told = (_number(file, group, name) for group, name in names.GADGET_HUBBLE)
        hubble = next((found for found in told if found is not None), 1.0)
        power = _number(file, positions, "h_scaling")
        factor = 1.0 if unit == "s" or hubble <= 0 else hubble ** (-1.0 if power is None else power)
        return f"{_shown(length * factor)}cm {_shown(mass * factor)}g {_shown(last)}{unit}"
    return None


def _shown(size: float) -> str:
    return repr(float(size))


def _last_state(file: Any) -> str | None:
    for group in names.AMUSE_SETS:
        states = [name for name in file.get(group, ()) if name.isascii() and name.isdigit()]
        if states:
            return f"{group}/{max(states)}"
    return None


def _is_amuse(file: Any) -> bool:
    return _last_state(file) is not None


def _amuse(file: Any) -> Snapshot:
    state = _last_state(file)
    columns: list[Any] = []
    units: list[tuple[float, bool]] = []
    kinds = [("a mass", (0, 1, 0))] + 3 * [("a length", (1, 0, 0))] + 3 * [("a speed", (1, 0, -1))]
    for name, (kind, powers) in zip(names.AMUSE_ATTRIBUTES, kinds):
        path = f"{state}/attributes/{name}"
        columns.append(_numbers(file, path, 1, len(columns[0]) if columns else None))
        units.append(_amuse_unit(path, str(_attribute(file, path, "units")), kind, powers))
    if len({is_generic for _, is_generic in units}) > 1:
        raise Error(f"the units of '{state}' are of N-body systems and of others; allowed: all N-body, or none")
    for first in (1, 4):
        for place in (first + 1, first + 2):
            if units[place] != units[first]:
                columns[place] = columns[place] * (units[place][0] / units[first][0])
    factors = [units[place][0] for place in (1, 0, 4)]
    is_generic = units[0][1]
    if is_generic and factors != [1.0, 1.0, 1.0]:
        raise Error("its N-body units have factors; allowed: those of nbody_system themselves, or SI units")
    length, mass, speed = factors
    text = None if is_generic else f"{_shown(length)}m {_shown(mass)}kg {_shown(speed)}m/s"
    time = _number(file, str(state), "timestamp")
    if time is not None:
        unit = str(_attribute(file, str(state), "timestamp_unit"))
        seconds, _ = _amuse_unit(f"{state}/timestamp", unit, "a time", (0, 0, 1))
        time *= seconds / (length / speed)
    keys = identifiers_of([_identifiers(file, f"{state}/keys", len(columns[0]))])
    return Snapshot(columns[0], numpy.column_stack(columns[1:4]), numpy.column_stack(columns[4:]), keys, time, text)


# A power, a sign or a bracket, a unit, a number.
_TOKEN = re.compile(
    r"\s*(?:(\*\*)|([*/()])|system\.get\('(generic|S\.I\.)'\)\.base\('(\w+)'\)|([-+]?[\d.]+(?:[eE][-+]?\d+)?))"
)


def _amuse_unit(path: str, text: str, kind: str, powers: tuple[int, int, int]) -> tuple[float, bool]:
    """The size of a unit, which an expression such as ``(1000.0 * system.get('S.I.').base('length'))`` tells,
    and whether it is one of an N-body system."""
    tokens: list[Any] = []
    place = 0
    while place < len(text.rstrip()):
        found = _TOKEN.match(text, place)
        if not found or len(tokens) > 200:
            break
        tokens.append(found.groups())
        place = found.end()
    else:
        try:
            size, found_powers, is_generic = _product(tokens, 32)
            if not tokens and found_powers == list(powers) and 0 < size < numpy.inf:
                return size, is_generic
        except (IndexError, ValueError, OverflowError, ZeroDivisionError):
            pass
    raise Error(f"the dataset '{path}': its unit is '{text[:200]}'; allowed: units of {kind}")


def _product(tokens: list[Any], depth: int) -> tuple[float, list[int], bool]:
    """The product at the beginning of some tokens, which are taken away."""
    size, powers, is_generic, sign = 1.0, [0, 0, 0], False, 1
    while True:
        _, sign_or_bracket, system, base, number = tokens.pop(0)
        found: tuple[float, list[int], bool]
        if sign_or_bracket == "(" and depth:
            found = _product(tokens, depth - 1)
            if tokens.pop(0)[1] != ")":
                raise ValueError
        elif system:
            kinds = ["length", "mass", "time"]
            found = (1.0, [int(kinds.index(base) == place) for place in range(3)], system == "generic")
        else:
            found = (float(number or "x"), [0, 0, 0], False)
        power = sign
        if tokens and tokens[0][0]:
            tokens.pop(0)
            power *= int(tokens.pop(0)[4] or "x")
        size *= found[0] ** power
        powers = [before + more * power for before, more in zip(powers, found[1])]
        is_generic |= found[2]
        if not tokens or tokens[0][1] not in ("*", "/"):
            return size, powers, is_generic
        sign = 1 if tokens.pop(0)[1] == "*" else -1


# The layouts of HDF5: whether a file has it, and its bodies. The first one is taken.
_LAYOUTS = ((_is_own, _own), (_is_gadget, _gadget), (_is_amuse, _amuse))
