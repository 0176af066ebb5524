# SPDX-License-Identifier: BSD-3-Clause
"""The report opened in a real browser, without a network: every figure is drawn and nothing is logged as an error."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from made.run import Made, make_run, tara_like
from weft.cli.app import main
from weft.errors import WeftError
from weft.files.shipped import vega_bundle
from weft.report.html import embedded, parts
from weft.report.page import write
from weft.run.refresh import refresh

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.report
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not here: apt install chromium")
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--enable-logging=stderr", "--hide-scrollbars", "--virtual-time-budget=30000"),
]


def browse(page: Path, profile: Path, *options: str) -> tuple[str, list[str]]:
    """What the browser prints (the page's DOM with ``--dump-dom``), and the errors it logs from the page."""
    assert CHROMIUM
    opened = page.with_name(f"unfolded-{page.name}")
    opened.write_text(page.read_text().replace("<details", "<details open"))
    command = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", *options, opened.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, errors


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on one page: one host, and a simulated cluster with a cell that timed out."""
    folder = tmp_path_factory.mktemp("page")
    failures = {("c007", launch): "timeout" for launch in (1, 2, 3)}
    runs = [make_run(folder / "local"), make_run(folder / "tara", tara_like(failures=failures))]
    for run in runs:
        refresh(run)
    return write(runs, folder / "report.html")


def without_contents(page: Path) -> str:
    """The page without the list of its parts."""
    return re.sub(r"<nav.*?</nav>", "", page.read_text(), flags=re.DOTALL)


class Reader(HTMLParser):
    """The page's text outside of scripts and styles, its links and sources."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.sources, self.charts, self._silent = "", [], 0, 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._silent += tag in ("script", "style")
        self.charts += given.get("class") == "chart"
        self.sources += [value for key, value in attrs if key in ("src", "href") and value]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        self.text += "" if self._silent else data


@in_browser
def test_every_figure_is_drawn_and_the_console_has_no_errors(page: Path, tmp_path: Path) -> None:
    dom, errors = browse(page, tmp_path / "profile", "--dump-dom")
    assert errors == []
    charts = Reader(page.read_text()).charts
    assert charts >= 14
    assert dom.count('data-drawn="yes"') == charts
    drawings = re.findall(r"<svg .*?</svg>", dom, re.DOTALL)
    assert len(drawings) >= charts
    marks = [
        len(re.findall(r'class="mark-(?:symbol|line|rule|rect)', drawing))
        for drawing in drawings
        if "mark-group" in drawing
    ]
    assert len(marks) == charts
    assert min(marks) >= 2
    assert "could not be drawn" not in Reader(dom).text


@in_browser
def test_a_figure_that_cannot_be_drawn_is_seen_by_this_very_test(page: Path, tmp_path: Path) -> None:
    """The checks above would be worth nothing if a broken chart passed them."""
    broken = tmp_path / "broken.html"
    broken.write_text(re.sub(r'"mark":\{', '"mark":{"type":"no such mark"},"was":{', page.read_text(), count=1))
    dom, errors = browse(broken, tmp_path / "profile", "--dump-dom")
    assert errors
    assert "could not be drawn" in Reader(dom).text
    assert dom.count('data-drawn="yes"') == Reader(page.read_text()).charts - 1


@in_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_not_wider_than_the_screen_and_not_empty(page: Path, tmp_path: Path, width: int) -> None:
    picture = tmp_path / "page.png"
    _, errors = browse(page, tmp_path / "profile", f"--window-size={width},2400", f"--screenshot={picture}")
    assert errors == []
    with Image.open(picture) as image:
        assert image.width == width
        edge = image.convert("L").crop((width - 3, 0, width, 2400)).getextrema()
        colours = image.convert("RGB").getcolors(1 << 24)
    assert edge[0] > 225, "something reaches over the right edge"
    assert colours is not None
    assert len(colours) > 100


def test_the_page_needs_no_network(page: Path) -> None:
    html = page.read_text()
    assert all(source.startswith(("#", "data:")) for source in Reader(html).sources)
    own = html.replace(vega_bundle(), "")
    assert set(re.findall(r"https?://[^\s\"'<)]+", own)) <= {
        "https://vega.github.io/schema/vega-lite/v6.4.1.json",
        "http://www.w3.org/2000/svg",  # a name, not an address
    }
    assert "@import" not in own
    assert "url(" not in own


def test_vega_is_there_once_and_the_rest_is_small(page: Path) -> None:
    html = page.read_text()
    assert html.count(vega_bundle()) == 1
    assert len(html) - len(vega_bundle()) < 3_000_000


def test_the_verdict_comes_first_then_findings_figures_tables_and_provenance(page: Path) -> None:
    text = Reader(without_contents(page)).text
    wanted = [
        "Inconclusive",
        "Strong scaling",
        "Findings",
        "Figures",
        "Small dots: median of each launch",
        "Tables",
        "Median of the launches' medians",
        "Method and provenance",
    ]
    places = [text.index(word) for word in wanted]
    assert places == sorted(places)
    for fact in (
        "Open MPI v5.0.11",
        "Made Processor 9000",
        "OMPI_MCA_btl",
        "self,sm",
        "each rank on its own processor",
        "0123abc",
    ):
        assert fact in text


def test_the_failed_cell_is_told_with_its_remedy(page: Path) -> None:
    text = " ".join(Reader(page.read_text()).text.split())
    assert "cell c007, N = 18, p = 144, m = 9216: timeout: made to be timeout; last phase: C warm" in text
    assert "Repeat the same weft run" in text


def test_the_simulated_run_is_labelled_and_the_other_is_not(page: Path) -> None:
    first, second = re.split(r'<article id="run1">', page.read_text())
    assert "simulated" not in Reader(first.split('<article id="run0">')[1]).text
    assert Reader(second).text.count("simulated") > 10


def test_what_users_write_cannot_become_markup(tmp_path: Path) -> None:
    study = Made().study.replace("All-to-all on a made machine", "<script>alert(1)</script> & </script>")
    run = make_run(tmp_path / "run", Made(study=study, samples=3, mpi="</script><b>MPI</b>"))
    refresh(run)
    html = write([run], tmp_path / "r.html").read_text()
    assert "<script>alert" not in html
    assert "<b>MPI" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_json_in_a_script_cannot_end_it() -> None:
    assert "<" not in embedded({"title": "</script><!--"})


def test_cells_of_tables_are_split_into_number_and_small_print() -> None:
    assert parts("52.1 ms (51.8–52.9)") == ("52.1 ms", "(51.8–52.9)")
    assert parts("1.22 s, memory copy") == ("1.22 s", "memory copy")
    assert parts("93,312 kB") == ("93,312 kB", "")
    assert parts("timeout") == ("timeout", "")


def test_weft_report_writes_a_page_and_the_figures_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", Made(samples=3))
    assert main(["report", str(run)]) == 0
    assert "report.html" in capsys.readouterr().out
    assert (run / "report.html").is_file()
    assert not (run / "figures").exists(), "nobody asked for files"
    assert main(["report", str(run), "--figures", "svg", "--figures", "png"]) == 0
    endings = sorted(path.suffix for path in (run / "figures").iterdir())
    assert endings == [".png"] * 5 + [".svg"] * 5


def test_weft_report_of_several_runs_goes_where_it_is_told(tmp_path: Path) -> None:
    runs = [str(make_run(tmp_path / name, Made(samples=3))) for name in ("a", "b")]
    assert main(["report", *runs, "-o", str(tmp_path / "out" / "both.html")]) == 0
    html = (tmp_path / "out" / "both.html").read_text()
    assert html.count("<article") == 2
    # before all else how they compare, as weft compare says it
    words = Reader(html).text
    assert "b against a" in words
    assert words.index("b against a: Inconclusive") < words.index("All runs on one axis")


def test_a_report_on_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the working folder of the tests may have runs
    with pytest.raises(WeftError, match="no run was given"):
        write([], tmp_path / "r.html")
    assert main(["report"]) != 0


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "run", Made(samples=3))
    (tmp_path / "file").write_text("")
    assert main(["report", str(run), "-o", str(tmp_path / "file" / "r.html")]) == 1
    error = capsys.readouterr().err
    assert "error:" in error
    assert "Traceback" not in error
