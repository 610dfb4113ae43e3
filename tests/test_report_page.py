"""The HTML page: its text, and how it looks in a browser on a desktop and on a phone."""

import numpy as np
import pytest
from factories import cell, played_results, results
from html_tags import Tags

import pomdplite as pl
from pomdplite.views.page import report_page

NOISE = np.random.default_rng(3).normal(0, 1, 60)


def test_the_page_is_complete_and_loads_nothing():
    text, tags = report_page(played_results()), Tags()
    tags.feed(text)
    assert tags.open == [] and tags.fetched == [] and "url(" not in text and "@import" not in text
    assert tags.count["table"] == 1 + 3 and tags.count["figure"] == 2 + 2 + 3 + 2 + 3 and "script" not in tags.count
    for words in ("Return against β", "Return against planning time", "Paired differences", "Distribution of returns",
                  "Run details", "3.11.7", "Holm", "cannot be listed", "title = &#34;A study&#34;"):  # fmt: skip
        assert words in text, words
    assert text == report_page(played_results())


def test_names_on_the_page_are_escaped():
    evil = "<script>alert(1)</script>\"'&"
    study = results(
        cell(evil, evil, NOISE, beta=1.0, notes=[evil]), cell(evil, evil, NOISE - 1, beta=2.0),
        cell(evil, "other", reason=evil), title=evil,
    )  # fmt: skip
    text, tags = report_page(study), Tags()
    tags.feed(text)
    assert "<script" not in text and tags.open == [] and "&lt;script&gt;" in text
    assert "<script" not in pl.tables(study)._repr_html_()


@pytest.mark.parametrize("returns", [[1.0], [2.0, 2.0], [0.0, 0.0, 0.0]])
def test_a_study_with_hardly_any_data_has_a_page(returns):
    tags = Tags()
    tags.feed(report_page(results(cell("p", "q", returns), cell("p", "r", returns), cell("p", "s"))))
    assert tags.open == [] and tags.count["table"] == 2


def outside(tab) -> list[str]:
    """Texts that extend beyond their figure."""
    return tab.evaluate(
        "[...document.querySelectorAll('figure svg text')].filter(t => {const a = t.getBoundingClientRect(),"
        " b = t.ownerSVGElement.getBoundingClientRect(); return a.left < b.left - 1 || a.right > b.right + 1})"
        ".map(t => t.textContent)"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_the_screen(browser, tmp_path, width, scheme):
    file = tmp_path / "study.html"
    file.write_text(report_page(played_results()), encoding="utf-8")
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
    assert smallest > 9, "the smallest text in the figures is too small to read"
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
    file.write_text(report_page(results(*cells, title=long + long)), encoding="utf-8")
    for width in (1280, 390):
        tab = browser.new_page(viewport={"width": width, "height": 844})
        tab.goto(file.as_uri())
        assert outside(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.screenshot(path=tmp_path / f"{width}.png", full_page=True)
        tab.close()
