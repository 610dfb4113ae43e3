"""Damaged model files are loaded rightly or refused in a sentence with file, line and cause; nothing hangs or crashes."""

import re
import signal
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pomdpx_documents as documents
import pytest
from test_pomdp_files import EVERYTHING, ONE_SHOT

import pomdplite as pl
from pomdplite.formats.cassandra import read_pomdp
from pomdplite.formats.listing import listing
from pomdplite.formats.pomdpx import read_pomdpx
from pomdplite.formats.structure import structure_of_network, structure_of_states
from pomdplite.formats.write_pomdp import pomdp_text
from pomdplite.formats.write_pomdpx import pomdpx_text

_LIMIT = 20  # seconds for one small file: whatever takes longer hangs

TOKENS = [b"*", b"-", b":", b"1e400", b"nan", b"-1", b"1e-320", b"0", b"99999999999999999999", b"uniform", b"identity",
          b"reset", b"T: * : * : * 1", b"start:", b"states: 7", b"#", b"<", b"</", b"&a;", b"&#0;", b"\x00", b"\xff\xfe",
          b"<Entry>", b"<NumValues>3</NumValues>", b"<!DOCTYPE x>", b"null", b"R: * : * : * : * 3", b"x_0", b"\r", b"1_0",
          b"0x10", b"1e", b".", b"+", b"_"]  # fmt: skip


def originals() -> dict[str, list[bytes]]:
    tiger, rocks = pl.Tiger(), pl.RockSample(2, [(1, 1), (0, 0)])
    return {
        ".pomdpx": [
            documents.document(documents.ROVER, documents.ROVER_TABLES),
            documents.document(documents.ROVER, documents.ROVER_DIAGRAMS),
            pomdpx_text(listing(rocks)).encode(),
        ],
        ".pomdp": [
            ONE_SHOT.encode(), EVERYTHING.replace("uniform_is_no_number", "0.3 0.7").encode(),
            pomdp_text(listing(tiger)).encode(),
        ],
    }  # fmt: skip


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """One to three small changes."""
    for _ in range(rng.integers(1, 4)):
        at, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 30))
        lines = data.split(b"\n")
        i, j = rng.integers(len(lines), size=2)
        words = re.split(rb"(\s+)", data)
        word = int(rng.integers(len(words)))
        texts = list(re.finditer(rb"<(\w+)[^<>]*>([^<>]*[^<>\s][^<>]*)<", data))
        kind = rng.integers(9) if not texts or rng.random() < 0.3 else 9
        if kind == 0:
            data = data[:at] + bytes([data[at] ^ (1 << rng.integers(8))] if at < len(data) else []) + data[at + 1 :]
        elif kind == 1:
            data = data[:at]
        elif kind == 2:
            lines[i], lines[j] = lines[j], lines[i]
            data = b"\n".join(lines)
        elif kind == 3:
            data = b"\n".join([*lines[:i], *lines[i + 1 :]])
        elif kind == 4:
            data = b"\n".join([*lines[:i], lines[j], *lines[i:]])
        elif kind == 5:
            data = data[:at] + data[at + length :]
        elif kind == 6:
            data = data[:at] + TOKENS[rng.integers(len(TOKENS))] + data[at:]
        elif kind == 7:
            words[word] = TOKENS[rng.integers(len(TOKENS))]
            data = b"".join(words)
        elif kind == 8:
            words[word] = words[int(rng.integers(len(words)))]
            data = b"".join(words)
        else:  # a word between two tags of XML becomes another word from between such tags
            here = texts[rng.integers(len(texts))]
            alike = [found for found in texts if found[1] == here[1]]
            inner, others = here[2].split(), [*alike[rng.integers(len(alike))][2].split(), TOKENS[rng.integers(10)]]
            inner[rng.integers(len(inner))] = others[rng.integers(len(others))]
            data = data[: here.start(2)] + b" ".join(inner) + data[here.end(2) :]
        data = data or b"\n"
    return data


@contextmanager
def time_limit():
    def late(*_):
        raise AssertionError("takes too long")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(_LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def is_right(model: pl.Model) -> bool:
    """Whether the arrays that the functions read are probabilities, numbers and references that exist."""
    rows, states = len(model.gain), len(model.state.labels["state"])
    sums = np.add.reduceat(model.chance, model.first[:-1])
    priors = [c.prior for c in model.hidden.components]
    used = model.row[model.row >= 0]
    return (
        len(model.first) == rows + 1
        and bool((np.diff(model.first) > 0).all())
        and np.allclose(sums, 1, atol=1e-9)
        and bool(((model.after >= 0) & (model.after < states)).all())
        and bool(np.isfinite(model.gain).all() and (used < rows).all() and len(used) > 0)
        and all((p >= 0).all() and abs(p.sum() - 1) < 1e-9 for p in priors)
        and bool(((model.seen >= 0) & (model.seen < len(model.observations))).all())
        and 0 <= model.discount <= 1
    )


def fuzz(suffix: str, count: int, seed: int) -> Counter:
    rng = np.random.default_rng(seed)
    sources = originals()[suffix]
    outcomes: Counter = Counter()
    for number in range(count):
        data = damaged(sources[number % len(sources)], rng)
        try:
            with time_limit():
                if suffix == ".pomdp":
                    model = structure_of_states(read_pomdp(data, "f.pomdp")).model()
                else:
                    model = structure_of_network(read_pomdpx(data, "f.pomdpx")).model()
        except pl.NotPomdpLiteError as error:
            assert "by chance" in str(error)
            outcomes["not a POMDP-lite"] += 1
        except pl.TooLargeError as error:
            assert str(error).startswith("f.pomdp"), (number, data)
            outcomes["too large"] += 1
        except pl.ModelError as error:
            line = re.match(r"f\.pomdpx?, line (\d+): .+\.$", str(error), re.DOTALL)
            assert line and 1 <= int(line[1]) <= data.count(b"\n") + data.count(b"\r") + 1, (number, str(error), data)
            outcomes["refused"] += 1
        else:
            assert is_right(model), (number, data)
            outcomes["loaded"] += 1
    return outcomes


@pytest.mark.parametrize("suffix, count", [(".pomdp", 2000), (".pomdpx", 2000)])
def test_damaged_files_are_loaded_rightly_or_refused(suffix, count):
    outcomes = fuzz(suffix, count, seed=1)
    assert outcomes["refused"] > count / 10 and outcomes["loaded"] > count / 20


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".pomdp", ".pomdpx"])
def test_many_damaged_files_are_loaded_rightly_or_refused(suffix):
    outcomes = fuzz(suffix, 40_000, seed=2)
    assert outcomes["refused"] > 4000 and outcomes["loaded"] > 2000


def test_the_command_line_reports_a_damaged_file_in_one_line(tmp_path, capsys):
    from pomdplite.cli.main import execute

    (tmp_path / "bad.pomdp").write_text(ONE_SHOT.replace("0.85 0.15 0", "0.85 0.25 0"))
    assert execute(["show", str(tmp_path / "bad.pomdp")]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "bad.pomdp, line 10: the observation probabilities of action listen" in error
