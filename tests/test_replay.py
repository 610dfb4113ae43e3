"""What a replay holds: the steps of an episode as a page shows them, and what notebooks show."""

import base64
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from factories import played_results
from html_tags import Tags

import pomdplite as pl
from pomdplite.cli.main import execute
from pomdplite.views import text
from pomdplite.views.replay import frames as frames_module
from pomdplite.views.replay.panels import BeliefPanel, belief_panels
from pomdplite.views.replay.playing import record

pytest.importorskip("jinja2")
EVIL = "<script>alert(1)</script>\"'&"


def data(page: str) -> dict:
    """What the page's script reads."""
    start = page.index('id="episode">') + len('id="episode">')
    return json.loads(page[start : page.index("</script>", start)])


class EvilDoors(pl.Model):
    """Names that would do harm if they were not escaped; it has no drawing."""

    state = pl.State(**{"opened": (EVIL, "left", "right"), "tries": int, "angle": float})
    hidden = pl.Hidden(tiger=(EVIL, "right"))
    actions = ("listen", EVIL, "open-right")
    observations = (EVIL, "hear-right")
    discount = 0.95
    beta = 30.0

    def transition(m, x, theta, a, y):
        y.opened = a
        y.tries = x.tries + 1
        y.angle = y.tries / 3

    def observation(m, y, theta, a, z):
        if a == 0:
            z[theta.tiger], z[1 - theta.tiger] = 0.85, 0.15

    def reward(m, x, theta, a):
        if a == 0:
            return -1.0
        return -100.0 if a - 1 == theta.tiger else 10.0

    def terminal(m, x):
        return x.opened != 0 or x.tries > 20


@pytest.fixture(scope="module")
def tiger() -> pl.Replay:
    return pl.replay("tiger", seed=3)


@pytest.fixture
def text_drawings(monkeypatch):
    """Painting takes a tenth of a second a step; most tests look at numbers."""
    monkeypatch.setattr(frames_module, "can_paint", lambda: False)


def test_frames_are_the_steps_of_the_episode(tiger, text_drawings):
    """Against an evaluation of the same episode, and a belief computed by hand: each word multiplies the odds by 85/15."""
    played = pl.evaluate("tiger", episodes=1, seed=3).episodes[0]
    found = data(tiger.html())
    (frames,) = found["lanes"]
    assert len(frames) == played.steps + 1 and found["panels"][0]["rows"] == ["left", "right"]
    assert frames[-1]["total"] == pytest.approx(played.discounted, rel=1e-4)
    odds = 1.0
    for t, frame in enumerate(frames):
        assert frame["belief"][0][0] == pytest.approx(odds / (1 + odds), abs=1e-4)
        assert frame["truth"] == [1], "the tiger is on the right"
        odds *= {"hear-left": 85 / 15, "hear-right": 15 / 85}.get(frame.get("observation"), 1.0)
        if t < played.steps:
            total = sum(0.95**i * frames[i]["reward"] for i in range(t + 1))
            assert frame["total"] == pytest.approx(total, rel=1e-4)
            best = max(frame["values"], key=lambda row: row[1])
            assert frame["values"][frame["chosen"]] == best and best[0] == frame["action"] == frame["line"][0]
            assert all(q == pytest.approx(reward + bonus, abs=1e-3) for _, q, reward, bonus in frame["values"])
    assert "The episode has ended" in frames[-1]["end"] and found["bonus"] == [True]


def test_planners_meet_the_same_episode_and_the_page_says_where_they_part(text_drawings):
    replay = pl.replay("rocksample-4-4", ["pomdp-lite", "mean-mdp"], seed=2, beta=0.8)
    found = data(replay.html())
    one, two = found["lanes"]
    parted = found["parted"]
    assert one[0]["truth"] == two[0]["truth"] and parted == replay.parted and found["bonus"] == [True, False]
    actions = [[frame.get("action") for frame in lane] for lane in (one, two)]
    assert actions[0][:parted] == actions[1][:parted] and actions[0][parted] != actions[1][parted]
    assert one[parted]["belief"] == two[parted]["belief"], "until then they have seen the same"
    same = pl.replay("tiger", ["mean-mdp", "mean-mdp"], seed=3)
    assert same.parted is None and data(same.html())["parted"] is None


def test_the_same_seed_gives_the_same_page(text_drawings):
    pages = {pl.replay("rocksample-4-4", seed=1).html() for _ in range(2)}
    assert len(pages) == 1


def test_a_loop_of_your_own_is_shown_like_a_replay(text_drawings):
    planner = pl.PomdpLite(pl.Tiger())
    world = pl.make_world("model", planner.model)
    world.reset(3)
    planner.reset()
    recording = pl.Recording(planner, theta=world.theta)
    over = False
    while not over:
        decision = planner.decide()
        result = world.step(decision.action)
        planner.update(decision.action, result.y, result.o)
        recording.add(decision, result)
        over = result.terminated
    played = pl.replay(planner.model, planner, seed=3)
    assert data(pl.Replay(recording).html())["lanes"] == data(played.html())["lanes"]


def test_a_recording_needs_a_planner_at_its_start():
    with pytest.raises(pl.UsageError, match=r"call reset\(\) first"):
        planner = pl.PomdpLite(pl.Tiger())
        planner.prepare()
        pl.Recording(planner)
    with pytest.raises(pl.UsageError, match="needs a planner, not 'tiger'"):
        pl.Recording("tiger")
    planner.reset()
    with pytest.raises(pl.UsageError, match="no steps to show"):
        pl.Replay(pl.Recording(planner))


def test_names_are_escaped_and_a_state_without_a_drawing_is_a_table():
    replay = pl.replay(EvilDoors(), "pomdp-lite", seed=1)
    replay.title, tags = EVIL, Tags()
    page = replay.html()
    tags.feed(page)
    assert tags.open == [] and tags.fetched == [] and tags.count["script"] == 2
    assert "<script>alert" not in page and "&lt;script&gt;" in page
    frames = data(page)["lanes"][0]
    assert frames[0]["fields"] == [["opened", EVIL], ["tries", "0"], ["angle", "0"]]
    assert frames[1]["fields"][2] == ["angle", "0.3333"]
    for fragment in (replay._repr_html_(), replay.recordings[0].steps[0].decision._repr_html_()):
        assert "<script" not in fragment and "&lt;script&gt;" in fragment


def played(model: pl.Model, planner: pl.Planner, most: int) -> pl.Recording:
    """An episode, interrupted after so many steps."""

    def stop(step):
        if step.t + 1 == most:
            raise KeyboardInterrupt

    return record(planner, pl.make_world("model", model), 0, 0, stop)


@pytest.mark.slow  # it compiles the search and the particles
def test_ships_are_a_heat_map_with_the_true_ones_marked(text_drawings):
    model = pl.Battleship(5, 2)
    recording = played(model, pl.PomdpLite(model, sims=5), 4)
    found = data(pl.Replay(recording).html())
    frames = found["lanes"][0]
    assert [(panel["kind"], panel["columns"]) for panel in found["panels"]] == [("heat", 5)]
    assert frames[-1]["end"] == "Interrupted after 4 steps." and len(frames) == 5
    ships = np.array(frames[0]["truth"][0])
    assert ships.sum() == 2 + 3 and set(ships) == {0.0, 1.0}
    for frame in frames:
        fired = [ord(f["action"][0]) - 97 + 5 * (int(f["action"][1:]) - 1) for f in frames[: frames.index(frame)]]
        assert [frame["belief"][0][cell] for cell in fired] == [ships[cell] for cell in fired]


@pytest.mark.slow  # it compiles the search with noise
def test_a_number_is_a_mean_with_an_interval_on_one_scale():
    model = pl.Pendulum()
    planner = pl.PomdpLite(model, beta=0, solver="uct", sims=3)
    found = data(pl.Replay(played(model, planner, 3)).html())
    (panel,) = found["panels"]
    assert panel["kind"] == "interval" and panel["low"] < 0.55 and panel["high"] > 1.9
    for frame in found["lanes"][0]:
        mean, low, high = frame["belief"][0]
        assert panel["low"] < low < mean < high < panel["high"]
        assert panel["low"] < frame["truth"][0][0] < panel["high"]


def test_the_scale_of_an_interval_holds_all_of_an_episode():
    mass = BeliefPanel("interval", "mass", (0,)).scaled([[1.0, 0.5, 1.5], [1.2, 1.1, 1.3, 1.9], [1.1, 1.0, 1.2]])
    assert mass.low == pytest.approx(0.5 - 0.04 * 1.4) and mass.high == pytest.approx(1.9 + 0.04 * 1.4)
    assert BeliefPanel("bars", "tiger", (0,), ("left", "right")).scaled([[0.5, 0.5]]).high == 1.0


def test_components_with_two_values_are_one_panel_with_a_bar_each():
    class Parts(EvilDoors):
        hidden = pl.Hidden(left=("no", "yes"), right=("no", "yes"), mood=pl.independent(2, ("a", "b", "c")))

    shares, *moods = belief_panels(Parts())
    assert shares.title == "probability of yes" and shares.rows == ("left", "right")
    assert shares.numbers([np.array([0.9, 0.1]), np.array([0.2, 0.8])]) == [0.1, 0.8] and shares.truth([1, 0]) == [1, 0]
    assert [(panel.kind, panel.title) for panel in moods] == [("bars", "mood[0]"), ("bars", "mood[1]")]
    (rocks,) = belief_panels(pl.make_model("rocksample-4-4"))
    assert rocks.title == "rock: probability of good" and len(rocks.rows) == 4


def test_many_values_are_columns_or_a_map():
    (columns,) = belief_panels(pl.LightDarkBins())
    assert columns.kind == "columns" and len(columns.rows) == 61
    labels = pl.Grasp().hidden.components[0].labels
    (places,) = belief_panels(pl.Grasp())
    shown = [tuple(map(float, label.strip("()").split(","))) for label in places.rows]
    assert places.kind == "heat" and places.columns == 7 and len(shown) == 42
    assert [x for x, _ in shown[:7]] == sorted(x for x, _ in shown[:7]) and len({y for _, y in shown[:7]}) == 1
    assert shown[0][1] > shown[-1][1], "what is further back is higher on the map"
    assert places.numbers([np.arange(42.0)]) == [labels.index(row) for row in places.rows]
    assert places.rows[places.truth([5])] == labels[5]


def test_pages_are_small():
    pytest.importorskip("matplotlib")
    model = pl.make_model("rocksample-7-8")
    page = pl.Replay(played(model, pl.MeanMdp(model), 6)).html()
    pictures = data(page)["pictures"]
    assert len(pictures) == 7 and all(uri.startswith("data:image/webp;base64,") for uri in pictures)
    assert 60 * max(map(len, pictures)) + len(page) < 5e6


class Filmed(pl.ModelWorld):
    """The model with a camera, whose image is as bright as the step is late."""

    def reset(self, seed, episode=0):
        super().reset(seed, episode)
        self.taken = 0

    def step(self, a):
        self.taken += 1
        return super().step(a)

    def picture(self):
        return np.full((1200, 1600, 3), 20 * self.taken, np.uint8)


def test_camera_images_are_kept_from_the_start_to_the_end(text_drawings):
    pillow = pytest.importorskip("PIL.Image")
    found = data(pl.replay("tiger", seed=3, world=Filmed).html())
    frames, pictures = found["lanes"][0], found["pictures"]
    assert [frame["camera"] for frame in frames] == list(range(len(frames)))
    for t, uri in enumerate(pictures):
        image = pillow.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))
        assert image.size == (720, 540) and abs(image.convert("L").getpixel((5, 5)) - 20 * t) < 3


def test_a_long_episode_is_cut_and_the_page_says_so(monkeypatch, text_drawings):
    replay = pl.replay("tiger", seed=3)
    count = len(replay.recordings[0].steps)
    assert replay.cut == ""
    for module in ("frames", "page"):
        monkeypatch.setattr(f"pomdplite.views.replay.{module}.MOST_STEPS", 3)
    page = replay.html()
    frames = data(page)["lanes"][0]
    assert len(frames) == 4 and frames[-1]["end"] == f"The other {count - 3} steps are not shown."
    assert f"The page shows the first 3 of {count} steps." in page


def test_a_decision_without_values_says_so(tiger):
    decision = tiger.recordings[0].steps[0].decision
    unknown = replace(decision, solution=replace(decision.solution, q=np.full(3, -np.inf)))
    shown = frames_module._decided(unknown)
    assert shown["values"] == [] and shown["known"] == 0 and shown["legal"] == 3 and shown["action"] == "listen"
    assert "gives no action values" in unknown._repr_html_()


# ---------------------------------------------------------------------- the command line


def test_watch_writes_a_page_for_a_model_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert execute(["export", "tiger", "tiger.pomdpx"]) == 0
    assert execute(["watch", "tiger.pomdpx", "--html", "page.html", "--planners", "mean-mdp,mean-mdp"]) == 0
    assert "page in page.html" in capsys.readouterr().out
    found = data((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert found["planners"] == ["mean-mdp", "mean-mdp"] and found["lanes"][0][0]["fields"]
    assert found["panels"][0]["rows"] == ["left", "right"]


def test_ctrl_c_keeps_the_steps_so_far(tmp_path, monkeypatch, capsys, text_drawings):
    printed = text.print_step

    def interrupting(console, model, step):
        printed(console, model, step)
        if step.t == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(text, "print_step", interrupting)
    assert execute(["watch", "tiger", "--seed", "3", "--html", str(tmp_path / "page.html")]) == 130
    frames = data((tmp_path / "page.html").read_text(encoding="utf-8"))["lanes"][0]
    assert len(frames) == 3 and frames[-1]["end"] == "Interrupted after 2 steps."
    assert "interrupted after 2 steps" in capsys.readouterr().out


def interrupt_in_step(monkeypatch, kind: type[pl.Planner], step: int) -> None:
    """Ctrl-C while a planner decides for the step with this number, from 1."""
    steps, decide = [], kind.decide

    def interrupted(planner):
        steps.append(planner)
        if len(steps) == step:
            raise KeyboardInterrupt
        return decide(planner)

    monkeypatch.setattr(kind, "decide", interrupted)


def test_an_interrupted_replay_carries_its_steps(monkeypatch):
    interrupt_in_step(monkeypatch, pl.PomdpLite, 3)
    with pytest.raises(pl.ReplayInterrupted) as raised:
        pl.replay("tiger", seed=3)
    assert len(raised.value.replay.recordings[0].steps) == 2


def test_ctrl_c_before_the_second_planner_moves_keeps_the_first(monkeypatch):
    interrupt_in_step(monkeypatch, pl.MeanMdp, 1)
    with pytest.raises(pl.ReplayInterrupted) as raised:
        pl.replay("tiger", ["pomdp-lite", "mean-mdp"], seed=3)
    assert [recording.planner.title for recording in raised.value.replay.recordings] == ["pomdp-lite"]
    interrupt_in_step(monkeypatch, pl.MeanMdp, 1)
    with pytest.raises(KeyboardInterrupt) as raised:
        pl.replay("tiger", "mean-mdp", seed=3)
    assert raised.type is KeyboardInterrupt, "there is nothing to keep"


def test_planners_must_fit_the_problem_and_take_their_parameters():
    with pytest.raises(pl.UsageError, match="none of the planners has a parameter betta"):
        pl.replay("tiger", ["pomdp-lite", "qmdp"], betta=3)
    with pytest.raises(pl.UsageError, match="made for Tiger, not for rocksample-4-4"):
        pl.replay("rocksample-4-4", pl.Qmdp(pl.Tiger()))
    with pytest.raises(pl.UsageError, match="different model object"):
        pl.replay(pl.Tiger(), [pl.Qmdp(pl.Tiger())])
    with pytest.raises(pl.UsageError, match="at least one Recording"):
        pl.replay("tiger", [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--html", "nowhere/page.html"), "there is no folder nowhere"),
        (("--html", "notes.txt"), "not an HTML page, so it is not overwritten"),
        (("--html", "new.html", "--planners", "pomdp-lite,oracle"), "no planner 'oracle'"),
        (("--html", "new.html", "--planners", ","), "give at least one name"),
        (("--planners", "qmdp,mean-mdp", "--video", "new.gif"), "are for a single planner"),
        (("--planners", "qmdp,mean-mdp", "-o", "ties=random"), "give planner.name=value"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_first_step(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("my notes\n")
    assert execute(["watch", "tiger", *arguments]) == 2
    out, err = capsys.readouterr()
    assert message in err and err.count("\n") == 1 and "step 1" not in out
    assert (tmp_path / "notes.txt").read_text() == "my notes\n" and not (tmp_path / "new.html").exists()


@pytest.mark.parametrize("method", ["draw", "paint"])
def test_a_mistake_in_a_drawing_is_reported_in_a_sentence(method, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    arguments = "x" if method == "draw" else "axes, x"
    (tmp_path / "doors.py").write_text(
        f"import pomdplite as pl\nclass Doors(pl.Tiger):\n    def {method}(self, {arguments}, marginals):\n        return 1 / 0\n"
    )
    assert execute(["watch", "doors.py:Doors", "--html", "page.html"]) == 1
    assert capsys.readouterr().err.endswith(f"pomdplite: Doors.{method} raised ZeroDivisionError: division by zero\n")


def test_without_jinja_the_page_names_its_extra(tmp_path, monkeypatch, capsys, tiger):
    monkeypatch.setattr("pomdplite.views.jinja.is_installed", lambda: False)
    assert execute(["watch", "tiger", "--html", str(tmp_path / "page.html")]) == 1
    assert capsys.readouterr().err == "pomdplite: HTML pages need Jinja2: pip install 'pomdplite[report]'.\n"
    assert tiger._repr_html_() is None and pl.check_model(pl.Tiger())._repr_html_() is None


# ---------------------------------------------------------------------- notebooks


def test_notebooks_show_results_as_html(tiger):
    evaluation = pl.evaluate("tiger", episodes=20, seed=1)
    report = pl.check_model(EvilDoors())
    report.add("kind", EVIL)
    shown = {
        "decision": tiger.recordings[0].steps[0].decision, "evaluation": evaluation, "episode": evaluation.episodes[0],
        "results": played_results(), "check": report, "replay": tiger,
    }  # fmt: skip
    for name, result in shown.items():
        html, tags = result._repr_html_(), Tags()
        tags.feed(html)
        assert tags.open == [] and tags.fetched == [] and len(html) < 20_000, name
        assert tags.count.get("table", 0) == {"check": 0, "results": 1}.get(name, 1), name
        assert "<style" not in html and "<script" not in html, name
    assert (
        "listen" in shown["decision"]._repr_html_()
        and f"{evaluation.mean:.3f}".replace("-", "−") in evaluation._repr_html_()
    )
    assert "✗" in report._repr_html_() and "hear-" in tiger._repr_html_()
