"""A study's file: what it stores, and what it refuses."""

import sqlite3

import pytest

import pomdplite as pl
from pomdplite.experiments.studies.store import SCHEMA, StudyStore


def tiger(**changes) -> pl.Study:
    given = {"title": "tiger", "problems": ["tiger"], "planners": ["qmdp"], "episodes": 8, "seed": 2}
    return pl.Study(**given | changes)


def episode(index: int, **changes) -> pl.Episode:
    given = {"discounted": 0.1 + index, "undiscounted": 1.0, "steps": 3, "seconds": 0.25, "success": None, "cut": True,
             "notes": ("ein Geräusch", "b"), "simulations": 7, "model_steps": 70}  # fmt: skip
    return pl.Episode(index, **given | changes)


def test_an_episode_comes_back_as_it_was(tmp_path):
    given = [episode(5, success=True, cut=False), episode(1), episode(3, success=False, notes=())]
    with StudyStore.create(tmp_path / "s.db", tiger()) as store:
        store.add(0, given)
        assert store.episodes(0) == tuple(sorted(given, key=lambda e: e.index))


def test_an_episode_is_written_once(tmp_path):
    with StudyStore.create(tmp_path / "s.db", tiger()) as store:
        store.add(0, [episode(1)])
        store.add(0, [episode(1, discounted=99.0), episode(2)])
        assert [(e.index, e.discounted) for e in store.episodes(0)] == [(1, 1.1), (2, 2.1)]


def test_rows_are_there_for_others_at_once(tmp_path):
    with StudyStore.create(tmp_path / "s.db", tiger()) as store:
        store.add(0, [episode(1)])
        assert len(pl.Results.read(tmp_path / "s.db").cells[0].episodes) == 1
        assert store._db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_a_ctrl_c_while_writing_loses_nothing(tmp_path, monkeypatch):
    with StudyStore.create(tmp_path / "s.db", tiger()) as store:
        write, calls = store._write, []

        def interrupted(rows):
            calls.append(rows)
            if len(calls) == 1:
                raise KeyboardInterrupt
            write(rows)

        monkeypatch.setattr(store, "_write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.add(0, [episode(1)])
        assert len(store.episodes(0)) == 1


def test_anyone_can_read_the_rows_with_sqlite(tmp_path):
    tiger().run(tmp_path / "s.db", workers=1)
    db = sqlite3.connect(tmp_path / "s.db")
    rows = db.execute(
        "SELECT problem, planner, parameters, seed, episode, discounted, steps, seconds_per_step FROM rows"
    ).fetchall()
    db.close()
    assert [row[:5] for row in rows] == [("tiger", "qmdp", "{}", 2, i) for i in range(8)]
    expected = pl.evaluate("tiger", "qmdp", episodes=8, seed=2)
    assert [row[5] for row in rows] == list(expected.returns) and all(row[7] > 0 for row in rows)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"seed": 3}, "its seed is 2, not 3"),
        ({"clock": "cpu"}, "its clock is wall, not cpu"),
        ({"planners": ["mean-mdp"]}, "it does not contain mean-mdp on tiger"),
        ({"options": {"ties": "random"}}, "it does not contain qmdp on tiger with ties = random"),
        ({"problems": ["tiger", "rocksample-4-4"]}, "it does not contain qmdp on rocksample-4-4"),
    ],
)
def test_a_file_of_another_study_is_refused(tmp_path, changes, reason):
    file = tmp_path / "s.db"
    StudyStore.create(file, tiger()).close()
    before = file.read_bytes()
    with pytest.raises(pl.UsageError, match=f"s.db holds another study: {reason}"):
        tiger(**changes).run(file)
    assert file.read_bytes() == before


def test_a_study_with_fewer_cells_is_another(tmp_path):
    StudyStore.create(tmp_path / "s.db", tiger(planners=["qmdp", "mean-mdp"])).close()
    with pytest.raises(pl.UsageError, match="it contains mean-mdp on tiger, which this study does not"):
        tiger().run(tmp_path / "s.db")
    with pytest.raises(pl.UsageError, match="cells are in a different order"):
        tiger(planners=["mean-mdp", "qmdp"]).run(tmp_path / "s.db")


def test_a_new_title_and_notes_are_taken_over(tmp_path):
    tiger().run(tmp_path / "s.db", workers=1)
    words = {"title": "other", "notes": ["Doors."], "publication": "book", "published": {"tiger": {"qmdp": (1, 0.5)}}}
    results = tiger(**words).run(tmp_path / "s.db")
    assert (results.title, results.notes, results.missing) == ("other", ("Doors.",), 0)
    assert results.publication == "book" and results.published["tiger"]["qmdp"].mean == 1.0


def test_constants_of_problems_are_stored(tmp_path):
    tiger(problems=["tiger", "grasp"], episodes=1).run(tmp_path / "s.db", workers=1)
    settings = pl.Results.read(tmp_path / "s.db").settings
    assert settings["tiger"] == {"discount": "0.95", "episode limit": "180 steps", "β": "30"}
    assert "opening 125 mm" in settings["grasp"]["gripper and cup"] and "pick ±100" in settings["grasp"]["costs"]


def test_the_beta_that_was_chosen_is_stored_beside_the_one_that_was_asked_for(tmp_path):
    study = tiger(planners=["pomdp-lite"], options={"beta": ["auto", 7]})
    results = study.run(tmp_path / "s.db", workers=1)
    automatic, given = results.cells
    planner = pl.PomdpLite(pl.Tiger(), beta="auto")
    planner.prepare()
    assert automatic.chosen == {"beta": planner.beta} and given.chosen == {}
    assert automatic.cell.parameters == {"beta": "auto"} and automatic.evaluation(2).parameters == {
        "beta": planner.beta
    }
    more = tiger(planners=["pomdp-lite"], options={"beta": ["auto", 7]}, episodes=9).run(tmp_path / "s.db", workers=1)
    assert [len(r.episodes) for r in more.cells] == [9, 9] and more.cells[0].chosen == automatic.chosen


def test_a_file_without_chosen_parameters_is_read_and_resumed(tmp_path):
    study = tiger(planners=["pomdp-lite"], options={"beta": "auto"})
    study.run(tmp_path / "s.db", workers=1)
    with sqlite3.connect(tmp_path / "s.db") as db:
        db.execute("ALTER TABLE cells DROP COLUMN chosen")
        db.execute("DELETE FROM episodes WHERE episode > 3")
    db.close()
    (before,) = pl.Results.read(tmp_path / "s.db").cells
    assert before.chosen == {} and len(before.episodes) == 4
    (after,) = study.run(tmp_path / "s.db", workers=1).cells
    assert after.chosen["beta"] > 0 and len(after.episodes) == 8


def test_a_study_may_ask_for_more_episodes(tmp_path):
    first = tiger().run(tmp_path / "s.db", workers=1)
    grown = tiger().with_episodes(12)
    results = grown.run(tmp_path / "s.db", workers=1)
    assert results.missing == 0 and results.configuration == grown.toml()
    assert results.cells[0].episodes[:8] == first.cells[0].episodes  # kept, times and all
    assert [e.discounted for e in results.cells[0].episodes] == list(
        pl.evaluate("tiger", "qmdp", episodes=12, seed=2).returns
    )
    with pytest.raises(
        pl.UsageError, match="already asks for 12 episodes of qmdp on tiger, more than 8: ask for at least as many"
    ):
        tiger().run(tmp_path / "s.db")
    with pytest.raises(pl.UsageError, match="from 1 to 1,000,000,000, not 0"):
        tiger().with_episodes(0)


def test_a_model_that_was_edited_is_another(tmp_path):
    robot = tmp_path / "robot.py"
    robot.write_text("import pomdplite as pl\nclass Robot(pl.Tiger):\n    '''A robot.'''\n")
    study = tiger(problems=[f"{robot}:Robot"])
    study.run(tmp_path / "s.db", workers=1)
    robot.write_text(robot.read_text() + "    discount = 0.9\n")
    with pytest.raises(pl.UsageError, match=r"robot.py:Robot, or a module of yours that it imports, has changed"):
        study.run(tmp_path / "s.db", workers=1)


def test_a_newer_file_is_refused(tmp_path):
    file = tmp_path / "s.db"
    StudyStore.create(file, tiger()).close()
    db = sqlite3.connect(file)
    db.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    db.close()
    for use in (lambda: tiger().run(file), lambda: pl.Results.read(file)):
        with pytest.raises(pl.UsageError, match=f"newer version of pomdplite .format {SCHEMA + 1}"):
            use()


def test_a_damaged_file_is_reported(tmp_path):
    file = tmp_path / "s.db"
    tiger(episodes=400).run(file, workers=1)
    whole = file.read_bytes()
    for damaged in (
        b"not a database at all" * 300,
        whole[: len(whole) // 2],
        whole[:8192] + b"\xff" * (len(whole) - 8192),
    ):
        file.write_bytes(damaged)
        for use in (lambda: tiger(episodes=400).run(file), lambda: pl.Results.read(file)):
            with pytest.raises(pl.PomdpLiteError, match=r"s\.db is damaged, or not a study file"):
                use()
        assert file.read_bytes() == damaged


def test_a_foreign_database_is_refused_and_left_alone(tmp_path):
    file = tmp_path / "photos.db"
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE photos (name)")
    db.close()
    with pytest.raises(pl.UsageError, match="a database, but not a study file"):
        tiger().run(file)
    db = sqlite3.connect(file)
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("photos",)]
    db.close()


def test_places_where_no_file_can_be(tmp_path):
    with pytest.raises(pl.UsageError, match="there is no folder"):
        tiger().run(tmp_path / "no" / "s.db")
    with pytest.raises(pl.UsageError, match="it is a folder"):
        tiger().run(tmp_path)
    with pytest.raises(pl.UsageError, match=r"no study file .*none\.db"):
        pl.Results.read(tmp_path / "none.db")
    (tmp_path / "empty.db").touch()
    with pytest.raises(pl.UsageError, match="is empty"):
        pl.Results.read(tmp_path / "empty.db")
    assert tiger().run(tmp_path / "empty.db", workers=1).missing == 0  # an empty file is a new one


def test_results_record_versions_and_machine(tmp_path):
    results = tiger().run(tmp_path / "s.db", workers=1)
    assert results.versions["pomdplite"] == pl.__version__ and "numba" in results.versions
    assert results.machine["cores"] and results.machine["system"] and results.machine["workers"] == "1"
    assert pl.Study.parse(results.configuration) == tiger()
    assert pl.Results.read(tmp_path / "s.db") == results


def test_a_frame_has_a_row_for_each_episode(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    results = tiger().run(tmp_path / "s.db", workers=1)
    frame = results.frame()
    assert list(frame["return"]) == [e.discounted for e in results.cells[0].episodes]
    assert list(frame["episode"]) == list(range(8)) and set(frame["planner"]) == {"qmdp"}
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(pl.UsageError, match=r"pip install 'pomdplite\[frames\]'"):
        results.frame()
