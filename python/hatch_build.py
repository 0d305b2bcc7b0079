"""Puts the built library and its forwards into the wheel.

They are taken from the folder that ``KYOHO_BUILT`` names, as ``make wheel`` does. Without it they
are built first, by ``make build``.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ["kyoho", "kyoho_sapporo6", "kyoho_yebisu", "kyoho_nbody6", "kyoho_nbody6pp"]


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg, misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        built = built_folder()
        self.work = pathlib.Path(tempfile.mkdtemp())
        newest = 17
        interface = interface_number(self.metadata.version)
        for name in NAMES:
            # The name that the loader looks for.
            library = self.work / f"lib{name}.so.{interface}"
            strip = ["strip", "--strip-unneeded", "-o", str(library), str(built / f"lib{name}.so")]
            subprocess.run(strip, check=True)
            build_data["force_include"][str(library)] = f"kyoho/lib/{library.name}"
            newest = max(newest, newest_glibc(library))
        build_data["pure_python"] = False
        # Which distributions it runs on is the newest symbol of their C library that it uses.
        build_data["tag"] = f"py3-none-manylinux_2_{newest}_{os.uname().machine}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self.work)


def interface_number(version: str) -> str:
    """The number of the binary interface: before version 1 that of the minor version."""
    major, minor = version.split(".")[:2]
    return f"0.{minor}" if major == "0" else major


def built_folder() -> pathlib.Path:
    """The folder of the libraries."""
    named = os.environ.get("KYOHO_BUILT")
    if named:
        return ROOT / named
    subprocess.run(["make", "build"], cwd=ROOT, check=True)
    # A relative one is below the folder in which cargo runs.
    return ROOT / (os.environ.get("CARGO_TARGET_DIR") or "target") / "release"


def newest_glibc(library: pathlib.Path) -> int:
    """The minor number of the newest version of the C library that a library asks for."""
    return max((int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", library.read_bytes())), default=0)
