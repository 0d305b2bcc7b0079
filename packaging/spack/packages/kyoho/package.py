"""The recipe of Kyoho for Spack.

    spack repo add packaging/spack
    spack install kyoho
"""

from spack.package import *
from spack_repo.builtin.build_systems.makefile import MakefilePackage


class Kyoho(MakefilePackage):
    """Gravitational forces for N-body codes, on NVIDIA GPUs, OpenCL devices and CPUs, behind the
    interfaces of GRAPE-6, GRAPE-5, Sapporo, Sapporo2, Yebisu and NBODY6's GPU library."""

    license("MIT", checked_by="kyoho")

    # A submission adds homepage, url, git and version("0.2.0", sha256="...") of the release's
    # kyoho-VERSION-source.tar.gz. From a clone: spack develop --path . kyoho@main
    version("main", branch="main")

    variant("dropin", default=False, description="Install under the names libsapporo, libg6, libg5 and libpg6 too")
    variant("python", default=True, description="Install the Python package")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("gmake", type="build")
    depends_on("binutils", type="build")

    with when("+python"):
        extends("python@3.9:", type=("build", "run"))
        depends_on("py-pip", type="build")
        depends_on("py-hatchling@1.26:", type="build")
        depends_on("py-numpy@1.20:", type=("build", "run"))

    # Drivers of GPUs are found when a program runs: nothing of CUDA or OpenCL is linked.
    build_targets = ["build"]

    @property
    def install_targets(self):
        return ["install", f"PREFIX={self.prefix}", f"DROPIN={int(self.spec.satisfies('+dropin'))}"]

    @run_after("install", when="+python")
    def install_python(self):
        """The package finds the library beside it, as it has one in its wheels."""
        with working_dir("python"):
            pip = ["-m", "pip", "install", "--no-deps", "--no-build-isolation", f"--prefix={self.prefix}"]
            self.spec["python"].command(*pip, ".")

    def setup_build_environment(self, env):
        # The Python package takes what `make build` has made.
        env.set("KYOHO_BUILT", "target/release")

    def test_command(self):
        """the forces are right on this machine"""
        which(self.prefix.bin.kyoho)("verify", "--table-only", "--bodies", "16", "--backend", "cpu")
