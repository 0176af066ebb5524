# SPDX-License-Identifier: BSD-3-Clause
"""Spack: copy this folder to packages/weft of a repository of yours (spack repo create), then spack install weft."""

from spack.package import depends_on, license, variant, version, when
from spack_repo.builtin.build_systems.python import PythonPackage


class Weft(PythonPackage):
    """Is the interconnect of a parallel computer the bottleneck, why, what would it do elsewhere, and what helps."""

    # a checkout: spack develop --path /path/to/weft weft@main
    license("BSD-3-Clause")

    version("main", branch="main", git="file:///path/to/weft.git")

    variant("report", default=True, description="Tables, figures and pages, beside measuring")
    variant("simulate", default=False, description="Fabrics of kind simulated")

    # nothing is compiled at install time: the kernels are built for the site's MPI at first use, by these
    depends_on("mpi", type="run")
    depends_on("cxx", type="run")
    depends_on("cmake@3.25:", type="run")
    depends_on("ninja@1.11:", type="run")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-scikit-build-core@1.0:", type="build")
    depends_on("py-cyclopts@4.0:", type="run")
    depends_on("py-jinja2@3.1:", type="run")
    depends_on("py-numpy@1.26:", type="run")
    depends_on("py-pydantic@2.11:", type="run")
    depends_on("py-rich@13.9:", type="run")

    with when("+report"):
        depends_on("py-altair@6.0:6", type="run")
        depends_on("py-duckdb@1.4:", type="run")
        depends_on("py-ibis-framework@11.0:", type="run")
        depends_on("py-pyarrow@17.0:", type="run")
        depends_on("py-pyarrow-hotfix@0.4:", type="run")
        depends_on("py-vl-convert-python@1.9:", type="run")

    depends_on("simgrid@3.32: +smpi", when="+simulate", type="run")

    def setup_run_environment(self, env):
        """The MPI that Spack chose is the one that is measured."""
        env.set("WEFT_MPICXX", self.spec["mpi"].mpicxx)
