# SPDX-License-Identifier: BSD-3-Clause
"""Building the kernels: once for each MPI, never twice at a time, and never half."""

import os
import re
import threading
import time
from pathlib import Path

import pytest

from weft.errors import DataError, LaunchError
from weft.launch import build, toolchain
from weft.launch.build import build_kernels, cache_key, library_identity
from weft.launch.simulated.simgrid import simulated_sources
from weft.launch.toolchain import first_error
from weft.mpi.library import Mpi

KERNEL = """#!/bin/sh
case "$1" in
--version) echo "MPICH Version: 9.9.1" ;;
--settings) echo "HOME=$HOME"; env | sort ;;
esac
"""
# a CMake that builds nothing: it copies a script, counts its calls, and can be told to fail
CMAKE = """#!/bin/sh
here=$(dirname "$0")
echo "$@" >> "$here/calls"
if [ "$1" = -S ]; then
    mkdir -p "$4"
    cp "$2/kernel.sh" "$4/staged"
    [ -e "$4/broken" ] && exit 1
    [ -e "$here/fail-configure" ] && { printf 'CMake Error at x:3 (y):\\n  Could NOT find MPI\\n\\nmore\\n'; exit 1; }
    exit 0
fi
[ -e "$here/slow" ] && sleep 0.5
[ -e "$here/fail" ] && { echo '[1/9] ok'; echo "a.cpp:7:3: error: 'span' is not a member of 'std'"; exit 2; }
mkdir -p "$2/bin"
cp "$2/staged" "$2/bin/$4"
chmod +x "$2/bin/$4"
"""
WRAPPER = """#!/bin/sh
case $1 in
-show) echo c++ -I/i -L{lib} -lmpi ;;
-v) echo 'mpicxx for MPICH version 9.9.1' ;;
*) exit 1 ;;
esac
"""


class Site:
    """A made MPI, made sources, made tools and a cache of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tools = root / "tools"
        self.sources = root / "native"
        self.library = root / "lib/libmpi.so"
        self.mpi = Mpi(self.program("mpi/bin/mpicxx", WRAPPER.format(lib=root / "lib")), "PATH")
        self.program("tools/cmake", CMAKE)
        self.library.parent.mkdir()
        self.library.write_bytes(b"\x7fELF library")
        self.sources.mkdir()
        (self.sources / "CMakeLists.txt").write_text("project(weft)")
        (self.sources / "main.cpp").write_text("int main() {}")
        (self.sources / "kernel.sh").write_text(KERNEL)

    def program(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def build(self, said: list[str] | None = None, only: str = "") -> build.Kernels:
        return build_kernels(self.mpi, (said if said is not None else []).append, self.sources, only)

    @property
    def builds(self) -> int:
        calls = self.tools / "calls"
        return sum(line.startswith("--build") for line in calls.read_text().splitlines()) if calls.exists() else 0


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(toolchain, "tool", lambda name: str(made.tools / name))
    return made


def test_kernels_are_built_once_and_said_to_be(site: Site) -> None:
    said: list[str] = []
    first, second = site.build(said), site.build(said)
    assert first == second
    assert site.builds == 1
    first_words, last_words = said
    assert first_words == f"building all kernels for MPICH 9.9.1 with {site.mpi.wrapper} (once, up to a minute)"
    assert re.fullmatch(r"built in \d+ s", last_words)
    assert str(first.library) == "MPICH 9.9.1"
    assert first.folder.parent == site.root / "cache/weft"
    assert not list((site.root / "cache/weft").glob("*.part"))


def test_a_run_builds_the_program_of_its_kernel_alone_beside_those_of_others(site: Site) -> None:
    said: list[str] = []
    one, other, again = site.build(said, "exchange-own"), site.build(said, "pairs"), site.build(said, "pairs")
    assert [line.partition(" for")[0] for line in said[::2]] == [
        "building the kernel exchange",
        "building the kernel pairs",
    ]
    assert site.builds == 2
    assert one.program != other.program == again.program
    assert {kernels.program.name for kernels in (one, other)} == {"weft-measure"}
    assert one.about()["kernels"] == other.about()["kernels"], "of the same sources"
    assert one.library == other.library
    targets = [
        line.split()[-1] for line in (site.tools / "calls").read_text().splitlines() if line.startswith("--build")
    ]
    assert targets == ["weft-measure-exchange-own", "weft-measure-pairs"]


def test_a_program_with_all_kernels_serves_every_study(site: Site) -> None:
    every = site.build()
    assert site.build(only="pairs") == every
    assert site.builds == 1


def test_a_long_build_says_how_far_it_has_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "TELL_EACH_S", 0.02)
    log, said = tmp_path / "log", list[str]()
    log.write_text("$ cmake\n[1/31] Building a\n[12/31] Building b\n")
    with toolchain.reported(said.append, "building", log):
        eventually = time.monotonic() + 10
        while len(said) < 3 and time.monotonic() < eventually:
            time.sleep(0.01)
    assert re.fullmatch(r"still building: 12 of 31 steps, \d+ s so far", said[1])
    ended = len(said)
    time.sleep(0.1)
    assert len(said) == ended, "it goes on telling after the build"
    with pytest.raises(OSError), toolchain.reported(said.append, "building", tmp_path / "none"):
        raise OSError
    assert said[ended:] == ["building"]


def test_anything_that_changes_the_program_changes_its_key(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [cache_key(site.mpi, site.sources)]
    (site.sources / "main.cpp").write_text("int main() { return 1; }")
    keys.append(cache_key(site.mpi, site.sources))
    (site.sources / "extra.hpp").write_text("")
    keys.append(cache_key(site.mpi, site.sources))
    (site.sources / "alltoall").mkdir()  # which the kernels measure beside the library's own
    (site.sources / "alltoall" / "bruck.cpp").write_text("")
    keys.append(cache_key(site.mpi, site.sources))
    site.library.write_bytes(b"\x7fELF library, updated in place")
    keys.append(cache_key(site.mpi, site.sources))
    (site.root / "mpi/bin/mpicxx").write_text(WRAPPER.format(lib=site.root / "lib -DX"))
    keys.append(cache_key(site.mpi, site.sources))
    monkeypatch.setattr(toolchain, "compiler_version", lambda: "another compiler")
    keys.append(cache_key(site.mpi, site.sources))
    assert len(set(keys)) == len(keys)


def test_what_does_not_change_the_program_leaves_its_key(site: Site) -> None:
    before = cache_key(site.mpi, site.sources)
    for folder in ("tests", "simulate", "bench", "trace", "interpose"):
        (site.sources / folder).mkdir()
        (site.sources / folder / "some.cpp").write_text("")
    (site.sources / "platform_simulated.cpp").write_text("")
    (site.sources / "notes.txt").write_text("")
    assert cache_key(site.mpi, site.sources) == before


def test_a_change_to_what_traces_does_not_rebuild_the_simulated_kernels(site: Site) -> None:
    before = simulated_sources(site.sources)
    for name in ("trace/a.cpp", "interpose/a.cpp", "route/a.cpp", "simulate/rounds/a.cpp", "bench/a.cpp", "a_real.cpp"):
        (site.sources / name).parent.mkdir(parents=True, exist_ok=True)
        (site.sources / name).write_text("")
    assert simulated_sources(site.sources) == before
    (site.sources / "platform_simulated.cpp").write_text("")
    assert simulated_sources(site.sources) != before


def test_two_at_the_same_time_build_once(site: Site) -> None:
    (site.tools / "slow").touch()
    found: list[build.Kernels] = []
    threads = [threading.Thread(target=lambda: found.append(site.build())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len({kernels.folder for kernels in found}) == 1
    assert site.builds == 1


def test_a_failed_build_shows_the_first_error_and_the_log(site: Site) -> None:
    (site.tools / "fail").touch()
    with pytest.raises(LaunchError) as caught:
        site.build()
    assert "'span' is not a member of 'std'" in caught.value.what
    log = next((site.root / "cache/weft").glob("*.log"))
    assert str(log) in caught.value.remedy
    assert "[1/9] ok" in log.read_text()
    (site.tools / "fail").unlink()
    assert site.build().program.is_file()


def test_a_failed_configuration_shows_what_cmake_did_not_find(site: Site) -> None:
    (site.tools / "fail-configure").touch()
    with pytest.raises(LaunchError, match="Could NOT find MPI"):
        site.build()


def test_what_a_killed_build_left_is_removed_by_the_next(site: Site) -> None:
    key = cache_key(site.mpi, site.sources)
    left = site.root / "cache/weft" / f"{key}.abc.part"
    left.mkdir(parents=True)
    (left / "half").touch()
    site.build()
    assert not left.exists()


def interrupt(site: Site, monkeypatch: pytest.MonkeyPatch, left: str) -> Path:
    """Interrupt a build that has left a file; the folder of its objects."""

    def interrupted(_: Path, folder: Path, *given: object, **more: object) -> int:
        (folder / left).touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(build, "cmake_build", interrupted)
        site.build()
    (objects,) = (path for path in (site.root / "cache/weft").glob("objects-*") if path.is_dir())
    return objects


def test_an_interrupted_build_goes_on_with_its_objects_but_not_with_those_of_other_sources(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = interrupt(site, monkeypatch, "half.o")
    site.build()
    assert (objects / "half.o").exists()
    (site.sources / "main.cpp").write_text("int main() { return 1; }")
    os.utime(site.sources / "main.cpp", (0, 0))  # of an older release: older than the objects
    site.build()
    assert not (objects / "half.o").exists()


def test_an_edit_after_a_build_leaves_the_objects_of_other_sources(site: Site) -> None:
    """One changed line compiled all kernels anew: 40 CPU seconds."""
    site.build()
    (objects,) = (path for path in (site.root / "cache/weft").glob("objects-*") if path.is_dir())
    for name, later_ns, kept in (
        ("main.cpp", 10**9, True),
        ("extra.hpp", 2 * 10**9, True),
        ("main.cpp", -(10**9), False),
    ):
        (objects / "some.o").touch()
        (site.sources / name).write_text(f"// {later_ns}")
        now = time.time_ns() + later_ns  # an editor's time is newer; that of an older release is not
        os.utime(site.sources / name, ns=(now, now))
        site.build()
        assert (objects / "some.o").exists() == kept, (name, later_ns)


def test_what_an_interrupted_build_left_broken_is_built_anew(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = interrupt(site, monkeypatch, "broken")
    assert site.build().program.is_file()
    assert not (objects / "broken").exists()


def test_a_program_that_does_not_start_is_not_kept(site: Site) -> None:
    (site.sources / "kernel.sh").write_text(
        "#!/bin/sh\necho 'libmpi.so.40: cannot open shared object file' >&2; exit 127\n"
    )
    with pytest.raises(LaunchError, match=r"libmpi\.so\.40"):
        site.build()
    assert not list((site.root / "cache/weft").glob("*/weft-measure"))


def test_default_settings_are_those_of_nobody(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_MCA_btl", "tcp,self")
    monkeypatch.setenv("UCX_TLS", "tcp")
    settings = Path(site.build().variables["WEFT_DEFAULT_SETTINGS"])
    text = settings.read_text()
    assert "OMPI_MCA_btl" not in text
    assert "UCX_TLS" not in text
    assert "PATH=" in text
    assert "HOME=" not in text, "a place is no setting"


def test_a_library_that_does_not_tell_its_settings_is_no_error(site: Site) -> None:
    (site.sources / "kernel.sh").write_text(KERNEL.replace("--settings)", "--never)"))
    assert site.build().variables == {}


def test_a_cache_that_cannot_be_written_is_one_clear_message(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    (site.root / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(site.root / "file"))
    with pytest.raises(DataError, match="file/weft"):
        site.build()


def test_a_relative_cache_is_ignored_as_the_specification_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert build.cache() == Path.home() / ".cache/weft"


def test_a_linker_script_leads_to_the_library_itself(tmp_path: Path) -> None:
    """PyPI's MPICH has a libmpi.so that is text: INPUT(libmpi.so.12)."""
    (tmp_path / "libmpi.so").write_text("INPUT(libmpi.so.12)")
    (tmp_path / "libmpi.so.12").write_bytes(b"\x7fELF real")
    found = list(library_identity(f"c++ -L{tmp_path} -lmpi"))
    assert any(entry.startswith(f"{tmp_path}/libmpi.so.12 ") for entry in found)


def test_a_missing_compiler_is_named_with_the_way_to_get_one(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(site.root))
    with pytest.raises(LaunchError) as caught:
        site.build()
    assert "no C++ compiler" in caught.value.what
    assert "apt install g++" in caught.value.remedy


def test_missing_sources_are_said_to_be_missing(site: Site) -> None:
    (site.sources / "CMakeLists.txt").unlink()
    with pytest.raises(LaunchError, match=r"CMakeLists\.txt"):
        site.build()


@pytest.mark.parametrize(
    ("output", "first"),
    [
        ("note\nx.cpp:1: error: one\nx.cpp:2: error: two", "x.cpp:1: error: one"),
        ("x.cpp:9:1: fatal error: mpi.h: No such file", "x.cpp:9:1: fatal error: mpi.h: No such file"),
        (
            "ld: undefined reference to `MPI_Init'\ncollect2: error: ld returned 1",
            "ld: undefined reference to `MPI_Init'",
        ),
        ("all fine\n\nthen it stopped\n\n", "then it stopped"),
        ("", "(no output)"),
    ],
)
def test_the_first_error_is_found(output: str, first: str) -> None:
    assert first_error(output) == first


def test_the_compiler_may_be_chosen(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = site.program("mine/mycxx", "#!/bin/sh\necho my compiler 1.0\n")
    monkeypatch.setenv("CXX", str(mine))
    monkeypatch.setenv("PATH", os.environ["PATH"])
    site.build()
    assert f"-DCMAKE_CXX_COMPILER={mine}" in (site.tools / "calls").read_text()
