"""The page of a replay in a browser: moving through the steps, themes, and phones."""

from dataclasses import replace

import pytest
from test_replay import EVIL, EvilDoors

import pomdplite as pl

pytest.importorskip("jinja2")


def without_line(step: pl.Step) -> pl.Step:
    """The step of a planner that does not say what it expects to do later."""
    decision = step.decision
    return replace(step, decision=replace(decision, solution=replace(decision.solution, line=())))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of one planner, of two, and of a model without a drawing whose names are nasty."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("pages")
    doors = pl.PomdpLite(EvilDoors())
    replays = {
        "tiger": pl.replay("tiger", seed=3),
        "two": pl.replay("rocksample-4-4", ["pomdp-lite", "mean-mdp"], seed=2, beta=0.8),
        "evil": pl.replay(doors.model, doors, seed=1),
    }
    replays["evil"].title = EVIL
    steps = replays["two"].recordings[1].steps
    steps[:] = [without_line(step) for step in steps]
    for name, replay in replays.items():
        replay.save(folder / f"{name}.html")
    return {name: ((folder / f"{name}.html").as_uri(), replay) for name, replay in replays.items()}


class Visit:
    """A tab, with what it complained about and what it loaded."""

    def __init__(self, browser, address: str, **options):
        options = {"viewport": {"width": 1280, "height": 900}} | options
        self.tab, self.complaints, self.requests = browser.new_page(**options), [], []
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("requestfailed", lambda request: self.complaints.append(request.url))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(address)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        loaded = {url.partition("#")[0] for url in self.requests if not url.startswith("data:")}
        self.tab.close()
        if kind is None:
            assert self.complaints == [] and len(loaded) == 1, (self.complaints, loaded)

    @property
    def where(self) -> str:
        return self.tab.inner_text("[data-part=where]")

    def part(self, name: str, lane: int = 0) -> str:
        return self.tab.inner_text(f"[data-lane='{lane}'] [data-part={name}]")

    def fits(self) -> bool:
        wide, seen = self.tab.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        return wide <= seen


def test_keys_buttons_and_the_slider_move_through_the_steps(browser, pages):
    address, replay = pages["tiger"]
    steps = replay.recordings[0].steps
    with Visit(browser, address) as visit:
        tab, press = visit.tab, visit.tab.keyboard.press
        assert visit.where == f"Step 1 of {len(steps)}" and "listen" in visit.part("outcome")
        for key, expected in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("Home", 1), ("ArrowLeft", 1)):
            press(key)
            assert visit.where == f"Step {expected} of {len(steps)}" and tab.url.endswith(f"#step={expected}")
        press("End")
        assert visit.where == "End" and tab.url.endswith("#step=end") and "has ended" in visit.part("outcome")
        assert f"{replay.recordings[0].returns[-1]:.3f}" in visit.part("outcome")
        tab.click("[data-go=first]")
        tab.click("[data-go=on]")
        assert visit.where == f"Step 2 of {len(steps)}" and steps[1].observation in visit.part("outcome")
        assert f"{100 * steps[1].marginals[0][0]:.1f} %" in visit.part("belief")
        tab.fill("[data-part=slider]", "3")
        assert visit.where == f"Step 4 of {len(steps)}"
        tab.focus("[data-part=slider]")
        press("ArrowRight")
        assert visit.where == f"Step 5 of {len(steps)}", "the focused slider moves one step, not two"
        assert tab.get_attribute("[data-part=slider]", "aria-valuetext") == visit.where
        assert visit.where in tab.inner_text("[data-part=spoken]")


def test_a_link_leads_to_a_step(browser, pages):
    address, replay = pages["tiger"]
    count = len(replay.recordings[0].steps)
    with Visit(browser, f"{address}#step=3") as visit:
        assert visit.where == f"Step 3 of {count}"
        visit.tab.evaluate("location.hash = 'step=end'")
        visit.tab.wait_for_function("document.querySelector('[data-part=where]').textContent === 'End'")
    for wrong, expected in (("step=999", "End"), ("step=0", f"Step 1 of {count}"), ("nonsense", f"Step 1 of {count}")):
        with Visit(browser, f"{address}#{wrong}") as visit:
            assert visit.where == expected


def test_playing_goes_on_to_the_end_and_stops(browser, pages):
    address, replay = pages["tiger"]
    with Visit(browser, address) as visit:
        tab = visit.tab
        tab.clock.install()
        tab.reload()
        tab.select_option("[data-part=speed]", "200")
        tab.evaluate("document.activeElement.blur()")
        tab.keyboard.press(" ")
        assert tab.get_attribute("[data-go=play]", "aria-label") == "Pause"
        tab.clock.run_for(450)
        assert visit.where.startswith("Step 3")
        tab.keyboard.press(" ")
        tab.clock.run_for(1000)
        assert visit.where.startswith("Step 3") and tab.get_attribute("[data-go=play]", "aria-label") == "Play"
        tab.click("[data-go=play]")
        tab.clock.run_for(200 * len(replay.recordings[0].steps))
        assert visit.where == "End" and tab.get_attribute("[data-go=play]", "aria-pressed") == "false"


def test_the_hidden_value_can_be_hidden(browser, pages):
    with Visit(browser, pages["tiger"][0]) as visit:
        mark = visit.tab.locator(".diamond")
        assert (
            mark.count() == 1 and mark.is_visible() and "right" in visit.tab.locator(".name:has(.diamond)").inner_text()
        )
        visit.tab.click("[data-part=truth]")
        assert not mark.is_visible() and visit.tab.get_attribute("[data-part=truth]", "aria-pressed") == "false"
        visit.tab.keyboard.press("ArrowRight")
        assert not visit.tab.locator(".diamond").is_visible() and not visit.tab.locator(".legend .truth").is_visible()


def test_two_planners_move_together_and_part_where_the_page_says(browser, pages):
    address, replay = pages["two"]
    parted = replay.parted
    with Visit(browser, address) as visit:
        assert f"part at step {parted + 1}" in visit.tab.inner_text("[data-part=parted]")
        visit.tab.click("[data-part=parted] button")
        assert visit.where.startswith(f"Step {parted + 1} of")
        assert visit.tab.locator(".lane.forks").count() == 2
        for lane, recording in enumerate(replay.recordings):
            assert recording.steps[parted].decision.name in visit.part("outcome", lane)
        assert "exploration bonus" in visit.part("values", 0) and "exploration bonus" not in visit.part("values", 1)
        assert "no principal line" in visit.part("outcome", 1) and "Expected actions" in visit.part("outcome", 0)
        visit.tab.keyboard.press("End")
        assert all("has ended" in visit.part("outcome", lane) for lane in (0, 1))
        assert visit.tab.locator(".lane.forks").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_the_page_fits_the_screen_in_both_themes(browser, pages, width, scheme):
    ground = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 28)"}
    other = "dark" if scheme == "light" else "light"
    for address, _ in pages.values():
        options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme, "reduced_motion": "reduce"}
        with Visit(browser, address, **options) as visit:
            tab = visit.tab
            assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == ground[scheme]
            for _ in range(2):
                tab.keyboard.press("ArrowRight")
                assert visit.fits()
            for theme in ("light", "dark"):
                tab.click("[data-part=theme]")
                assert tab.inner_text("[data-part=theme]") == f"Theme: {theme}"
                assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == ground[theme]
            outside = tab.evaluate(
                "[...document.querySelectorAll('button, select, input, .card, img')].filter(e => {"
                "const b = e.getBoundingClientRect(); return b.width && (b.left < 0 || b.right > innerWidth)}).length"
            )
            assert outside == 0, (width, other)
            assert all(image["width"] > 100 for image in (i.bounding_box() for i in tab.query_selector_all("img")))


def test_every_control_has_a_name_and_can_be_focused(browser, pages):
    with Visit(browser, pages["two"][0]) as visit:
        nameless = visit.tab.evaluate(
            "[...document.querySelectorAll('button, select, input, img, svg[role=img]')].filter(e => !(e.ariaLabel ||"
            " e.getAttribute('aria-label') || e.alt || e.textContent.trim() || e.closest('label'))).map(e => e.outerHTML)"
        )
        assert nameless == []
        reached = set()
        for _ in range(12):
            visit.tab.keyboard.press("Tab")
            reached.add(visit.tab.evaluate("document.activeElement.dataset.go || document.activeElement.dataset.part"))
        assert {"first", "back", "play", "on", "last", "slider", "speed", "truth", "theme"} <= reached


def test_nasty_names_are_shown_as_they_are(browser, pages):
    with Visit(browser, pages["evil"][0]) as visit:
        assert visit.tab.inner_text("h1") == EVIL == visit.tab.title()
        assert EVIL in visit.part("world") and EVIL in visit.part("values") and EVIL in visit.part("belief")
        assert visit.tab.locator("script").count() == 2
        visit.tab.keyboard.press("ArrowRight")
        assert visit.tab.locator(".world .new").count() == 2, "the fields that have changed stand out"
