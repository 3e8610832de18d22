"""The report in a real browser without a screen: it draws, responds to the pointer, and fits a phone."""

import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers import made_results

pytestmark = pytest.mark.slow

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Without a screen and as root; and without the connections that a browser opens for itself.
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
)
# Everything of a kind, also inside bokeh's shadow trees.
DEEP = """
function deep(root, selector) {
  const found = [...root.querySelectorAll(selector)];
  for (const element of root.querySelectorAll("*"))
    if (element.shadowRoot) found.push(...deep(element.shadowRoot, selector));
  return found;
}
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with every plot, as a file:// address."""
    pytest.importorskip("bokeh")
    from convnet_benchmarks.commands import report

    folder = tmp_path_factory.mktemp("report")
    rates = {"cpu": 1.0, "cuda": 90.0}
    points = [
        made_results.point(net, batch, rate * batch**0.5 * 10, device=device, name=f"{device} of a long name")
        for net in ("alexnet", "resnet50_v1", "mobilenetv2_0.25")
        for device, rate in rates.items()
        for batch in (1, 2, 4, 8, 16, 32, 64)
    ]
    files = [
        made_results.write(folder / "sweep.jsonl", *points, made_results.search("alexnet", 64)),
        made_results.write(folder / "ops.json", made_results.ops()),
        made_results.write(folder / "flops.json", made_results.flops()),
    ]
    page = folder / "report.html"
    assert report.main([*files, "--out", str(page)], "report") == 0
    return page.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    from selenium.webdriver.chrome.service import Service

    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("needs a browser: chromium and chromium-driver (Debian's packages of these names)")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('browser')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    running = webdriver.Chrome(options=options, service=Service(driver))
    yield running
    running.quit()


def open_page(browser: Any, page: str, width: int, height: int = 900, *, dark: bool = False) -> None:
    """Loads the page at that size and waits until the first figures are drawn."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    browser.get_log("browser")  # of the page before
    browser.get(page)
    wait_for(browser, "return document.querySelector('[data-figure]').dataset.state === 'drawn'")


def wait_for(browser: Any, script: str, seconds: float = 30) -> Any:
    """What the script returns as soon as that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = browser.execute_script(script)
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {script}")


def draw_all(browser: Any) -> None:
    """Printing draws what has not been scrolled to, too."""
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    wait_for(
        browser,
        "return [...document.querySelectorAll('[data-figure]')].every((f) => f.dataset.state === 'drawn')",
    )


def test_every_figure_is_drawn_and_nothing_is_loaded(browser: Any, report: str) -> None:
    open_page(browser, report, 1280)
    draw_all(browser)
    colours = browser.execute_script(
        DEEP
        + """
        return [...document.querySelectorAll('[data-figure]')].map((figure) =>
          Math.max(...deep(figure, 'canvas').map((canvas) => {
            if (!canvas.width || !canvas.height) return 0;
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
          })));
        """
    )
    assert len(colours) >= 15
    # Paper, a grid, text and at least one series, with their smooth edges.
    assert min(colours) > 20, colours
    resources = browser.execute_script("return performance.getEntriesByType('resource').map((r) => r.name)")
    assert [name for name in resources if not name.startswith(("data:", "blob:"))] == []
    complaints = [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    assert complaints == []


def test_what_is_far_is_drawn_without_being_scrolled_to(browser: Any, report: str) -> None:
    """A browser prints what is there: it does not wait for what is drawn when it begins to."""
    open_page(browser, report, 1280, 400)
    wait_for(
        browser,
        "return [...document.querySelectorAll('[data-figure]')].every((f) => f.dataset.state === 'drawn')",
    )
    assert browser.execute_script("return scrollY") == 0


def test_a_printed_table_is_no_wider_than_the_paper(browser: Any, report: str) -> None:
    open_page(browser, report, 720)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    wide = "return [...document.querySelectorAll('table')].filter((t) => t.scrollWidth > innerWidth).length"
    assert browser.execute_script(wide) == 0
    broken = """
        const range = document.createRange();
        return [...document.querySelectorAll('th, td')].flatMap((cell) =>
          [...cell.textContent.matchAll(/[\\w.]+/g)].filter((word) => {
            range.setStart(cell.firstChild, word.index);
            range.setEnd(cell.firstChild, word.index + word[0].length);
            return range.getClientRects().length > 1;
          }).map((word) => word[0]));
    """
    assert browser.execute_script(broken) == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_printed_chart_is_as_small_as_its_panel_on_paper(browser: Any, report: str) -> None:
    open_page(browser, report, 1280)
    figures = "[...document.querySelectorAll('[data-figure]')]"
    widths = browser.execute_script(f"return {figures}.map((figure) => figure.clientWidth)")
    draw_all(browser)
    zooms = browser.execute_script(f"return {figures}.map((figure) => Number(figure.style.zoom))")
    assert all(0 < zoom <= 1 for zoom in zooms)
    assert max(width * zoom for width, zoom in zip(widths, zooms, strict=True)) < 681
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert set(browser.execute_script(f"return {figures}.map((figure) => figure.style.zoom)")) == {""}


def test_the_pointer_shows_the_exact_numbers(browser: Any, report: str) -> None:
    open_page(browser, report, 1280)
    # Where the second point of the first series lies, from bokeh's own scales.
    x, y = browser.execute_script(
        """
        const host = document.querySelector('[data-figure]');
        host.scrollIntoView({block: 'center'});
        const view = Object.values(Bokeh.index.roots ?? Bokeh.index).find((v) => host.contains(v.el));
        const marks = view.model.renderers.find((r) => r.glyph.type === 'Scatter').data_source.data;
        const box = view.el.getBoundingClientRect();
        const {x_scale, y_scale} = view.frame;
        return [box.left + x_scale.compute(marks.x[1]), box.top + y_scale.compute(marks.y[1])];
        """
    )
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x - 3, "y": y - 3})
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
    text = wait_for(
        browser, DEEP + "return deep(document, '.tip').map((tip) => tip.innerText).find((text) => text)"
    )
    assert "net mobilenetv2_0.25" in text and "batch 2" in text
    assert "throughput 14.1421 images/s" in text and "cpu of a long name" in text


@pytest.mark.parametrize("width", [375, 320])
def test_a_phone_does_not_scroll_sideways(browser: Any, report: str, width: int) -> None:
    open_page(browser, report, width, 812)
    draw_all(browser)
    browser.execute_script("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    content, window, figures = browser.execute_script(
        """
        const figures = [...document.querySelectorAll('[data-figure]')].map((f) => f.getBoundingClientRect());
        return [document.documentElement.scrollWidth, innerWidth,
                figures.map((box) => [box.left, box.right, box.width])];
        """
    )
    assert content <= window == width
    # Titles wrap, and rows of a table are all of one line.
    titles, rows = browser.execute_script(
        """
        return [[...document.querySelectorAll('figcaption')].map((t) => t.scrollWidth <= t.clientWidth),
                [...document.querySelectorAll('tbody tr:not(:has(.long))')].map((row) => row.clientHeight)];
        """
    )
    assert titles and all(titles) and max(rows) <= min(rows) + 1
    assert all(left >= 0 and right <= width and inside > 0.8 * width for left, right, inside in figures)


def test_the_legend_hides_and_shows_a_series_of_its_own_plot(browser: Any, report: str) -> None:
    open_page(browser, report, 1280)
    visible = """
        const host = document.querySelector('[data-figure^="' + arguments[0] + '"]');
        const view = Object.values(Bokeh.index.roots ?? Bokeh.index).find((v) => host.contains(v.el));
        return view.model.renderers.filter((r) => r.name === arguments[1]).map((r) => r.visible);
    """
    name = "cpu of a long name"
    draw_all(browser)
    button = browser.find_element("css selector", f"#throughput_batch button[data-series='{name}']")
    for pressed in ("false", "true"):
        browser.execute_script("arguments[0].focus()", button)
        button.send_keys(" ")  # with the keyboard, as with the pointer
        assert button.get_attribute("aria-pressed") == pressed
        shown = browser.execute_script(visible, "throughput_batch", name)
        assert len(shown) >= 2 and set(shown) == {pressed == "true"}
        assert set(browser.execute_script(visible, "memory_batch", name)) == {True}


@pytest.mark.parametrize("dark", [False, True])
def test_the_charts_take_the_colours_of_the_page(browser: Any, report: str, dark: bool) -> None:
    open_page(browser, report, 1280, dark=dark)
    paper, faint, axis = browser.execute_script(
        """
        const style = getComputedStyle(document.documentElement);
        const view = Object.values(Bokeh.index.roots ?? Bokeh.index)[0];
        return [getComputedStyle(document.body).backgroundColor, style.getPropertyValue('--faint').trim(),
                view.model.below[0].axis_label_text_color];
        """
    )
    assert axis == faint
    # What was drawn light, for a dark screen, is made dark on paper.
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    drawn = "document.querySelector('[data-painted]')"
    assert (browser.execute_script(f"return getComputedStyle({drawn}).filter") != "none") == dark
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    brightness = sum(map(int, paper.removeprefix("rgb(").removesuffix(")").split(","))) / 3
    assert (brightness < 60) == dark
