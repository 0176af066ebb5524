# SPDX-License-Identifier: BSD-3-Clause
"""The work of ``weft run``: a study on one or several fabrics, one after the other, and a page about all of them."""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from shlex import quote

from weft.errors import WeftError
from weft.extras import how_to_report, missing_report, pip_install, what_is_missing
from weft.fabric import Fabric, load_fabric
from weft.fabric.kinds import KINDS
from weft.format import format_bytes
from weft.kernel.registry import program_of
from weft.kernel.studies import Overrides, load_study
from weft.launch import launcher_for, refuse_capture
from weft.launch.launcher import Launcher
from weft.plan.stored import plan_of
from weft.run.extend import can_extend
from weft.run.folder import RUNS, check_place
from weft.run.load import disturbs, in_words, look_first
from weft.run.one import candidates, choose_folder, exit_code, is_same_run, library_of, plan_study, run_study, statuses
from weft.run.progress import Progress, for_terminal
from weft.run.refresh import refresh
from weft.run.walk import pending
from weft.store.folder import Look, RunFolder
from weft.study import Study
from weft.text import plain

PREPARING = "nothing is lost, and the same command goes on"
MEASURING = "finished cells are kept, and the same command continues from here"
REPORTING = "everything is measured; the same command makes the tables and the page"


class Measuring:
    """A study on some fabrics, in ``into`` or folders in it; ``answer`` prints its own of a run. WeftError."""

    def __init__(
        self, study: str, on: Sequence[str], into: Path | None = None, mpicxx: str | None = None,
        pcap: Sequence[str] = (), cancel: bool = False, confirm: bool = False, overrides: Overrides | None = None,
        wait: bool = False, anyway: bool = False, report: bool = True,
        answer: Callable[[RunFolder], None] | None = None,
    ) -> None:  # fmt: skip
        overrides = overrides or Overrides()
        self.at: Path | None = None  # the run that is measured or reported
        self.study: Study = load_study(study, overrides)
        self.more = overrides.launches is not None or bool(overrides.time)
        self.wait, self.anyway, self.answer = wait, anyway, answer
        self.fabrics: list[Fabric] = [load_fabric(each) for each in on]
        names = [fabric.name for fabric in self.fabrics]
        twice = next((name for name in names if names.count(name) > 1), "")
        if twice:
            raise WeftError(f"--on names the fabric {twice} twice", "name each one once")
        self.into, self.mpicxx, self.pcap, self.cancel, self.confirm = into, mpicxx, tuple(pcap), cancel, confirm
        self.missing = missing_report() if report else ()
        self.report = report and not self.missing
        if confirm and not self.report:
            why = what_is_missing(self.missing) if self.missing else "--no-report makes none"
            what = f"--confirm judges by the tables of the run: {why}"
            raise WeftError(what, pip_install("report") if self.missing else "")
        for fabric in self.fabrics if pcap else ():
            refuse_capture(fabric, pcap)

    def go(self) -> int:
        """Measure, print, and write the pages; the exit code. WeftError as of :func:`weft.run.one.run_study`."""
        if len(self.fabrics) == 1:
            return self._one(self.fabrics[0], self.into)[1]
        base = self.into or self._base()
        ended = [self._one(fabric, base / fabric.name) for fabric in self.fabrics]
        if self.report:
            from weft.report import page

            path = page.write([folder.path for folder, _ in ended], base / f"{self.study.name}.html")
            print(f"report on all {len(ended)} fabrics: {path}")
        return max(code for _, code in ended)

    def what_is_kept(self) -> str:
        """What an interrupt leaves, and what then to do, in words."""
        run = RunFolder(self.at) if self.at else None
        if run is None or not run.meta.is_file():
            return PREPARING
        if pending(run, plan_of(run)):
            return MEASURING
        return REPORTING if unreported(run) else f"everything is measured, and the page is {run.report}"

    def _base(self) -> Path:
        """Folder of the runs on several fabrics: a new one, or that of the same runs if one of them is unfinished."""
        names = "-and-".join(fabric.name for fabric in self.fabrics)
        for path in candidates(RUNS / f"{self.study.name}-on-{names}"):
            runs = [(RunFolder(path / fabric.name), fabric) for fabric in self.fabrics]
            begun = [(run, fabric) for run, fabric in runs if run.meta.is_file()]
            if all(self._same(run, fabric) for run, fabric in begun) and (
                len(begun) < len(runs) or any(self._unfinished(run, fabric) for run, fabric in begun)
            ):
                return path
        raise AssertionError("candidates never end")

    def _is_left(self, folder: RunFolder) -> bool:
        """Whether the page is still to be made of a run whose cells are all measured, or knobs are to be moved."""
        if self.report and unreported(folder):
            return True
        if not self.confirm:
            return False
        from weft.run.refine import is_left  # reads tables: half a second of imports that a plain run does not need

        return is_left(folder)

    def _same(self, run: RunFolder, fabric: Fabric) -> bool:
        return is_same_run(run, self.study, fabric) or (self.more and can_extend(run, self.study, fabric))

    def _unfinished(self, run: RunFolder, fabric: Fabric) -> bool:
        more = self.more and can_extend(run, self.study, fabric)
        return bool(pending(run, plan_of(run))) or more or self._is_left(run)

    def _one(self, fabric: Fabric, into: Path | None) -> tuple[RunFolder, int]:
        progress: Progress = for_terminal()
        self.at = None
        into = into or choose_folder(self.study, fabric, progress, self._is_left, more=self.more).path
        make = cache(lambda: self._launcher(fabric, progress))
        # a place that cannot be used, and what cannot be planned, are refused before anything is compiled
        begun = RunFolder(into).meta.is_file()  # a path that cannot be looked at is a user's mistake
        check_place(RunFolder(into))
        plan = None if begun else plan_study(self.study, fabric, lambda: library_of(make()))
        launcher = make()
        seen = self._looked(progress) if KINDS[fabric.kind].runs_here else None
        self.at = into
        try:
            folder = run_study(
                self.study, fabric, into, launcher, progress, more=self.more, tables=self.report, shows=True, seen=seen,
                plan=plan,
            )  # fmt: skip
        except KeyboardInterrupt:
            self._keep(RunFolder(into))
            raise
        if self.report:
            self._report(folder, launcher, progress)
        counts = statuses(folder)
        sys.stdout.write(f"cells: {', '.join(f'{number} {status}' for status, number in sorted(counts.items()))}\n")
        for node in self.pcap:
            captures = sorted(folder.launches.glob(f"*.{node}.pcap"))
            size = format_bytes(sum(path.stat().st_size for path in captures))
            print(f"captured at {node}: {size} in {folder.launches}/*.{node}.pcap (headers; tcpdump -r FILE)")
        if seen is not None and disturbs(seen):
            print(plain(f"when it began, {in_words(seen, 'were')}: measure again on a quiet host (--wait)"))
        why = f"none: {what_is_missing(self.missing)}\n  -> {how_to_report(folder.path)}" if self.missing else ""
        why = why or f"none, as asked; weft report {quote(str(folder.path))} makes it"
        print(plain(f"report: {folder.report if self.report else why}"), flush=True)
        return folder, exit_code(counts)

    def _launcher(self, fabric: Fabric, progress: Progress) -> Launcher:
        only = program_of(self.study)
        return launcher_for(fabric, self.mpicxx, progress.say, pcap=self.pcap, cancel=self.cancel, only=only)

    def _looked(self, progress: Progress) -> Look:
        """What else this host does; what makes tables and pages is imported meanwhile, before anything is measured."""
        with ThreadPoolExecutor(1) as pool:
            if self.report:
                pool.submit(import_reporting)
            return look_first(progress.say, wait=self.wait, anyway=self.anyway)

    def _keep(self, folder: RunFolder) -> None:
        """Make tables and page of what an interrupted run has measured; a second interrupt ends that, too."""
        if not self.report or not folder.meta.is_file() or not any(folder.cells.glob("*.json")):
            return
        from weft.run.refine import write_page

        try:
            refresh(folder.path)
            write_page(folder)
        except WeftError as problem:
            sys.stderr.write(plain(f"no page of what was measured: {problem.what}\n"))

    def _report(self, folder: RunFolder, launcher: Launcher, progress: Progress) -> None:
        if self.confirm:
            from weft.run.refine import confirm

            confirm(folder, launcher, progress)
        if self.answer:
            return self.answer(folder)
        from weft.run.refine import print_answer, write_page

        write_page(folder)  # `weft report` writes the figures as files
        return print_answer(folder)  # last: the output may be full, or its reader gone


def import_reporting() -> None:
    """Import what makes tables and pages, which takes as long as a launch."""
    from weft.run.refine import open_engine

    open_engine()


def unreported(folder: RunFolder) -> bool:
    """Whether a run has no page, or one that is older than its newest cell."""
    newest = max((record.stat().st_mtime_ns for record in folder.cells.glob("*.json")), default=0)
    return not folder.report.is_file() or folder.report.stat().st_mtime_ns < newest
