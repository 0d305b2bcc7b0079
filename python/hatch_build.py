"""Puts what Rust builds into wheels: the library and its forwards, or the command.

They are taken from the folder that ``KYOHO_BUILT`` names, as ``make wheel`` does. Without it they
are built first, by ``make library`` or ``make build``. With ``KYOHO_LIBRARY=installed`` the wheel
has no library: the package finds the one that a distribution has installed.
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

HERE = pathlib.Path(__file__).resolve().parent
# The Rust sources are beside this folder in the repository, and within it in a source distribution.
ROOT = HERE / "source" if (HERE / "source").is_dir() else HERE.parent
NAMES = ["kyoho", "kyoho_sapporo6", "kyoho_yebisu", "kyoho_nbody6", "kyoho_nbody6pp"]
# What a build calls, and who brings it.
TOOLS = {
    "cargo": "Rust",
    "make": "make",
    "cc": "a C compiler",
    "strip": "binutils",
}
# The numbers of processors in a library's header, and their names in those of wheels.
MACHINES = {62: "x86_64", 183: "aarch64"}
# The C library of wheels for an index, which says the least that installers have to know.
LEAST_GLIBC = 28


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg, misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.work = pathlib.Path(tempfile.mkdtemp())
        if os.environ.get("KYOHO_LIBRARY") == "installed":
            return
        of_command = self.metadata.name == "kyoho-cli"
        built = self.built_folder("build" if of_command else "library")
        if of_command:
            files = [self.stripped(built / "kyoho", "kyoho")]
            build_data["shared_scripts"][str(files[0])] = "kyoho"
        else:
            # The name that the loader looks for.
            number = interface_number(self.metadata.version)
            files = [self.stripped(built / f"lib{name}.so", f"lib{name}.so.{number}") for name in NAMES]
            for file in files:
                build_data["force_include"][str(file)] = f"kyoho/lib/{file.name}"
        add_papers(built, build_data, of_command)
        build_data["pure_python"] = False
        # Which distributions it runs on is the newest symbol of their C library that it uses.
        newest = max(LEAST_GLIBC, *map(newest_glibc, files))
        build_data["tag"] = f"py3-none-manylinux_2_{newest}_{machine(files[0])}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self.work)

    def stripped(self, file: pathlib.Path, name: str) -> pathlib.Path:
        """A copy without the symbols that only debuggers read."""
        strip = os.environ.get("STRIP") or "strip"
        subprocess.run([strip, "--strip-unneeded", "-o", str(self.work / name), str(file)], check=True)
        return self.work / name

    def built_folder(self, goal: str) -> pathlib.Path:
        """The folder of what was built."""
        named = os.environ.get("KYOHO_BUILT")
        if named:
            return ROOT / named
        missing = missing_tools()
        if missing:
            self.app.abort(missing)
        if subprocess.run(["make", goal], cwd=ROOT, check=False).returncode:
            self.app.abort(f"'make {goal}' in {ROOT} failed: see above")
        # A relative one is below the folder in which cargo runs.
        target = ROOT / (os.environ.get("CARGO_TARGET_DIR") or "target")
        return target / os.environ.get("CARGO_BUILD_TARGET", "") / "release"


def add_papers(built: pathlib.Path, build_data: dict[str, Any], of_command: bool) -> None:
    """Adds the licences and the bill of materials, which a release writes beside what it builds."""
    licences, bill = built / "LICENSES.txt", built / "kyoho.cdx.json"
    if licences.exists():
        if of_command:
            build_data["shared_data"][str(licences)] = "share/doc/kyoho-cli/LICENSES.txt"
        else:
            build_data["force_include"][str(licences)] = "kyoho/lib/LICENSES.txt"
    # Older versions of hatchling have no place for it.
    if bill.exists() and "sbom_files" in build_data:
        build_data["sbom_files"].append(str(bill))


def missing_tools() -> str:
    """What a build lacks on this machine, if something."""
    oldest = re.search(r'(?m)^rust-version = "(\d+)\.(\d+)', (ROOT / "Cargo.toml").read_text())
    assert oldest
    wanted = f"Kyoho is built from source here, for which it needs Rust {oldest[1]}.{oldest[2]} or newer, a C compiler,"
    wanted += " binutils and make."
    missing = [f"{brings} ({tool})" for tool, brings in TOOLS.items() if not shutil.which(tool)]
    if missing:
        return f"{wanted} Not found: {', '.join(missing)}."
    told = subprocess.run(["cargo", "--version"], cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.match(r"cargo (\d+)\.(\d+)", told.stdout)
    if not found:
        return f"{wanted} 'cargo --version' fails: {told.stderr.strip()}"
    if (int(found[1]), int(found[2])) < (int(oldest[1]), int(oldest[2])):
        return f"{wanted} Found: {told.stdout.strip()}, at {shutil.which('cargo')}."
    return ""


def interface_number(version: str) -> str:
    """The number of the binary interface: before version 1 that of the minor version."""
    major, minor = version.split(".")[:2]
    return f"0.{minor}" if major == "0" else major


def machine(file: pathlib.Path) -> str:
    """The processor that a file is for."""
    number = int.from_bytes(file.read_bytes()[18:20], "little")
    return MACHINES.get(number) or os.uname().machine


def newest_glibc(file: pathlib.Path) -> int:
    """The minor number of the newest version of the C library that a file asks for."""
    return max((int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", file.read_bytes())), default=0)
