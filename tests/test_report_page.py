"""The page in a real browser, as wide as a desk's and a phone's."""

import shutil

import pytest
from factories import cell, played_results, results

from pomdplite.views.page import page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="the page is not tested in a browser: no playwright")
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"the page is not tested in a browser: there is none of {', '.join(BROWSERS)}")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path)
        yield running
        running.close()


def outside(tab) -> list[str]:
    """Texts that run out of their figure."""
    return tab.evaluate(
        "[...document.querySelectorAll('figure svg text')].filter(t => {const a = t.getBoundingClientRect(),"
        " b = t.ownerSVGElement.getBoundingClientRect(); return a.left < b.left - 1 || a.right > b.right + 1})"
        ".map(t => t.textContent)"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_all_there(browser, tmp_path, width, scheme):
    file = tmp_path / "study.html"
    file.write_text(page(played_results()), encoding="utf-8")
    tab = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    complaints, requests = [], []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("requestfailed", lambda request: complaints.append(request.url))
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(file.as_uri())

    assert tab.title() == "Tiger & RockSample <small>" == tab.inner_text("h1")
    sizes = {kind: [box.bounding_box() for box in tab.query_selector_all(kind)] for kind in ("table", "figure svg")}
    assert len(sizes["table"]) == 4 and len(sizes["figure svg"]) == 12
    assert all(box["width"] > 200 and box["height"] > 50 for boxes in sizes.values() for box in boxes)
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in sizes["figure svg"])
    across = tab.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert across[0] <= across[1], "the page scrolls sideways"
    smallest = tab.evaluate(
        "Math.min(...[...document.querySelectorAll('figure svg')].map("
        "s => s.getBoundingClientRect().width / s.viewBox.baseVal.width * 10.5))"
    )
    assert smallest > 9, "the smallest text of the figures cannot be read"
    bodies = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert bodies == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 28)")
    assert "Paired differences" in tab.inner_text("nav") and tab.inner_text("td.best b")
    assert outside(tab) == []
    assert complaints == [] and requests == [file.as_uri()]
    tab.close()


def test_long_names_fit(browser, tmp_path):
    long = "my_robots/warehouse/deliveries.py:DeliveryWithAnUnknownLoad"
    cells = [cell(long, f"{long}-{i}", [i, i + 1.0, -1e7 * i], solver=s) for i in range(11) for s in ("one", "two")]
    file = tmp_path / "study.html"
    file.write_text(page(results(*cells, title=long + long)), encoding="utf-8")
    for width in (1280, 390):
        tab = browser.new_page(viewport={"width": width, "height": 844})
        tab.goto(file.as_uri())
        assert outside(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.screenshot(path=tmp_path / f"{width}.png", full_page=True)
        tab.close()
