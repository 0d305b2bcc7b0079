"""Bodies from texts: lines of numbers, with or without names of columns."""

from __future__ import annotations

import hashlib
import math
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy

from ._errors import Error
from ._file_names import COLUMNS, NO_UNITS, SOFTENINGS

if TYPE_CHECKING:
    from typing import Any

_ALLOWED = "one each of mass (or m), x, y, z, vx, vy, vz, one eps or none, and others, which are not read"
_IDENTIFIERS = ("identifier", "identifiers", "id")
# A snapshot of the command begins with this.
_SNAPSHOT = "# kyoho snapshot "
# Fortran may leave out the letter of an exponent.
_WITHOUT_LETTER = re.compile(r"([+-]?[\d.]*[\d.])([+-]\d+)")


class Header(NamedTuple):
    """What names of columns and comments say."""

    places: list[int]
    """The places of the numbers of a body."""
    width: int
    may_have_more: bool
    units: str | None
    identifiers: int | None
    """The place of the identifier."""
    softening: int | None
    """The place of the softening."""


def _words(row: str) -> list[str]:
    for separator in ",;":
        if separator in row:
            return [word.strip() for word in row.split(separator)]
    return row.split()


def _number(word: str) -> float | None:
    # Python takes digits with underscores, and those of other scripts.
    if "_" in word or not word.isascii():
        return None
    try:
        return float(word)
    except ValueError:
        pass
    of_fortran = word.replace("d", "e").replace("D", "e")
    for form in (of_fortran, _WITHOUT_LETTER.sub(r"\1e\2", of_fortran)):
        try:
            return float(form)
        except ValueError:
            pass
    return None


def _finite(word: str) -> float:
    found = _number(word)
    if found is None or not math.isfinite(found):
        raise ValueError(f"'{word[:200]}' is not a finite number")
    return found


def _are_names(words: list[str]) -> bool:
    named = [word for word in words if word]
    return bool(named) and all(_number(word) is None and any(map(str.isalpha, word)) for word in named)


def _header(row: str) -> Header:
    """The columns by their names, which may have units in brackets behind them."""
    names, units = [], []
    for word in _words(row):
        name, *unit = re.split(r"[\[(]", word.strip("\"'").strip(), maxsplit=1)
        names.append(name.rstrip("_ ").lower())
        units.append(unit[0].rstrip("])").strip() if unit else None)
    places = []
    for wanted in (*COLUMNS, SOFTENINGS):
        found = [place for place, name in enumerate(names) if name in wanted]
        if len(found) > 1 or (not found and wanted != SOFTENINGS):
            how_many = "two columns have" if found else "no column has"
            raise ValueError(f"{how_many} the name '{wanted[0]}'; allowed: {_ALLOWED}")
        places += found
    softening = places.pop() if len(places) > len(COLUMNS) else None
    identifiers = [place for place, name in enumerate(names) if name in _IDENTIFIERS]
    of_columns = _units([units[place] for place in places], None if softening is None else units[softening])
    return Header(places, len(names), False, of_columns, next(iter(identifiers), None), softening)


def _units(units: list[str | None], of_softenings: str | None) -> str | None:
    """The units of columns, if all have some. That of softenings may be left out."""
    if any(unit is None or unit.lower() in NO_UNITS for unit in units):
        return None
    softening = units[1] if of_softenings is None or of_softenings.lower() in NO_UNITS else of_softenings
    for first, *others in (units[1:4], units[4:], [units[1], softening]):
        for other in others:
            if other != first:
                allowed = "one unit of lengths, one of speeds"
                raise ValueError(f"columns are in '{first}' and in '{other}'; allowed: {allowed}")
    return f"{units[1]} {units[0]} {units[4]}"


def _of_comments(lines: list[str], width: int) -> tuple[Header | None, dict[str, str]]:
    """The names of columns and the settings that comments before the numbers have."""
    header, settings = None, {}
    for line in lines:
        if not line.lstrip().startswith("#"):
            continue
        comment = line.lstrip().lstrip("#").strip()
        name, _, value = comment.partition(" ")
        value = value.strip()
        # Other words are a sentence about units.
        if name == "time" or (name == "units" and (value == "SI" or len(value.split()) == 3)):
            settings[name] = value
        try:
            found = _header(comment)
        except ValueError:
            continue
        # More names than numbers are words of a sentence.
        if found.width <= width:
            header = found._replace(may_have_more=True)
    return header, settings


def parse(path: str, text: str, allows_more: bool) -> tuple[Any, Any, float | None, str | None, Any]:
    """Rows of mass, position and velocity, the identifiers, the time, the units and the softenings of a
    text."""
    if text.startswith(_SNAPSHOT):
        _check_snapshot(path, text)
    lines = text.split("\n")
    rows = [(place + 1, row) for place, line in enumerate(lines) if (row := line.partition("#")[0].strip())]
    line = 0
    try:
        first, row = rows[0] if rows else (1, "")
        header, settings = _of_comments(lines[: first - 1], len(_words(row)))
        if rows and _are_names(_words(rows[0][1])):
            line = rows[0][0]
            header = _header(rows[0][1])
            del rows[0]
        identifiers, softening = (header.identifiers, header.softening) if header else (None, None)
        numbers, names, softenings = [], [], []
        for place, row in rows:
            line, words = place, _words(row)
            numbers.append(_row(words, header, allows_more))
            if identifiers is not None:
                names.append(words[identifiers])
            if softening is not None:
                softenings.append(_softening(words[softening]))
    except ValueError as error:
        raise Error(f"{path}, line {line}: {error}") from None
    time = _number(settings["time"]) if "time" in settings else None
    units = (header.units if header else None) or settings.get("units")
    eps = None if softening is None else numpy.array(softenings)
    try:
        known = _whole(names)
    except Error as error:
        raise Error(f"{path}: {error}") from None
    return numpy.array(numbers).reshape(len(numbers), 7), known, time, units, eps


def _check_snapshot(path: str, text: str) -> None:
    """Fails if a snapshot of ``kyoho run`` is not as it was written."""
    before, _, last = text.rstrip("\n").rpartition("\n")
    checksum = hashlib.sha256((before + "\n").encode()).hexdigest()
    if not re.fullmatch(rf"# end \d+ bodies, sha256 {checksum}", last):
        raise Error(f"{path}: its last line has no checksum of the others: it was truncated or changed")


def _whole(names: list[str]) -> Any:
    """Identifiers, if all are integers."""
    if not names or any(_number(name) is None for name in names):
        return None
    try:
        return identifiers_of([numpy.array([int(name) for name in names], dtype=object)])
    except ValueError:
        return None


def _softening(word: str) -> float:
    found = _finite(word)
    if found < 0:
        raise ValueError(f"the softening is {found}; allowed: zero and above")
    return found


def identifiers_of(parts: list[Any]) -> Any:
    """Arrays of integers as one array of 64 bits; None if a part is None."""
    if any(part is None for part in parts):
        return None
    found = [part for part in parts if part.size > 0]
    least = min((int(part.min()) for part in found), default=0)
    most = max((int(part.max()) for part in found), default=0)
    for dtype in (numpy.int64, numpy.uint64):
        limits = numpy.iinfo(dtype)
        if limits.min <= least and most <= limits.max:
            return numpy.concatenate([part.astype(dtype) for part in parts])
    allowed = "integers of 64 bits, all with a sign or all without one"
    raise Error(f"the identifiers are from {least} to {most}; allowed: {allowed}")


def _row(words: list[str], header: Header | None, allows_more: bool) -> list[float]:
    count = len(words)
    if header:
        if count != header.width and not (header.may_have_more and count > header.width):
            raise ValueError(f"it has {count} words; allowed: {header.width}, as the names of columns")
        found = [_finite(words[place]) for place in header.places]
    else:
        if count != 7 and not (allows_more and count > 7):
            more = "; or a first line with the names of all columns" if count > 7 else ""
            allowed = f"7 numbers with spaces between them, mass x y z vx vy vz{more}"
            raise ValueError(f"it has {count} words; allowed: {allowed}")
        found = [_finite(word) for word in words[:7]]
    if found[0] < 0:
        raise ValueError(f"the mass is {found[0]}; allowed: zero and above")
    return found
