"""pytest: tests that fail when a loop is late, and runs that are kept and compared.

    @pytest.mark.limit_lateness("p99<500us", policy="fifo:80")
    def test_control(howlate_loop):
        for turn in howlate_loop("1ms", 1000):
            controller.step()

What is too little to say, or was not measured as asked, skips the test with the reason; it never passes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, Iterator, List, Optional, Tuple

import pytest

if TYPE_CHECKING:
    from howlate.comparison import Comparison, Statistic
    from howlate.turns import Limit, Turns

_MARKER = (
    "limit_lateness(*limits, policy=None, slack='1ns', cpus=None): the turns of howlate_loop must keep limits such as "
    "'p99.9<500us', 'max<2ms' or 'missed<1', run under that policy"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, of one prefix."""
    group = parser.getgroup("howlate", "lateness of loops")
    group.addoption("--howlate-save", metavar="NAME", help="save the run as NNNN_NAME.jsonl")
    group.addoption("--howlate-autosave", action="store_true", help="save the run as NNNN_run.jsonl")
    group.addoption(
        "--howlate-compare",
        metavar="NUM",
        nargs="?",
        const="",
        help="compare with the last saved run, or with this one",
    )
    group.addoption(
        "--howlate-compare-fail", metavar="EXPR", action="append", default=[],
        help="fail when it got worse by more than this: p99:5%% or max:100us; may be repeated",
    )  # fmt: skip
    group.addoption("--howlate-storage", metavar="DIR", default=".howlate", help="where runs are saved (.howlate)")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker and what happens around tests."""
    config.addinivalue_line("markers", _MARKER)
    try:
        plugin = _Plugin(config)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    config.pluginmanager.register(plugin, "howlate-run")


@pytest.fixture
def howlate_loop(request: pytest.FixtureRequest) -> Iterator[Callable[..., Iterator[int]]]:
    """`howlate_loop(period, turns, name="loop")`: the numbers of turns, each when it is due; how late they are is measured."""
    limit_marker = _LimitMarker.of(request.node)
    loops: List[Turns] = []
    taken: List[Generator[int, None, None]] = []
    request.node.stash[_LOOPS] = loops

    def howlate_loop(period: str = "1ms", turns: int = 1000, name: str = "loop") -> Iterator[int]:
        from howlate.turns import Turns

        loop = Turns(f"{request.node.nodeid} {name}", period, turns)
        loops.append(loop)
        taken.append(limit_marker.turns(loop))
        return taken[-1]

    yield howlate_loop
    for turns in taken:  # a test that left its loop early still has its settings
        turns.close()


_LOOPS = pytest.StashKey[List["Turns"]]()


class _LimitMarker:
    """What the marker of a test asks for. Raises `ValueError` where it cannot be read."""

    def __init__(
        self, limits: Tuple[str, ...] = (), policy: Optional[str] = None, slack: Any = None, cpus: Any = None
    ) -> None:
        from howlate.turns import Limit

        self.limits: List[Limit] = [Limit.parse(text) for text in limits]
        self._slack, self._cpus = slack, cpus
        if policy not in (None, "other") and not re.fullmatch(r"fifo:[1-9]\d?", str(policy)):
            raise ValueError(f"policy is 'other' or 'fifo:1' to 'fifo:99', and not {policy!r}")
        self._priority = int(policy[5:]) if policy and policy != "other" else None

    @classmethod
    def of(cls, item: pytest.Item) -> _LimitMarker:
        marker = item.get_closest_marker("limit_lateness")
        if marker is None:
            return cls()
        if not marker.args:
            raise ValueError("limit_lateness takes at least one limit, such as 'p99.9<500us'")
        return cls(marker.args, **marker.kwargs)

    def turns(self, loop: Turns) -> Generator[int, None, None]:
        """Takes the turns under what is asked for."""
        from howlate.thread_settings import realtime

        with realtime(self._priority, self._slack, self._priority is not None, self._cpus) as loop.settings:
            yield from loop


class _Plugin:
    """One run of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._loops: List[Turns] = []
        self._rows: List[Tuple[Turns, str]] = []
        self._fails = [_Worse(text) for text in config.getoption("--howlate-compare-fail")]
        self._compared: Optional[Comparison] = None
        self._messages: List[str] = []
        if self._fails and config.getoption("--howlate-compare") is None:
            raise ValueError("--howlate-compare-fail needs --howlate-compare")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if item.get_closest_marker("limit_lateness") is None:
            return
        _LimitMarker.of(item)  # a marker that cannot be read is an error of the test, before it runs
        if "howlate_loop" not in getattr(item, "fixturenames", ()):
            raise ValueError(
                "limit_lateness judges the turns of the fixture howlate_loop, which this test does not take"
            )

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        outcome = yield
        loops = item.stash.get(_LOOPS, None)
        if loops is None or outcome.excinfo is not None:
            return
        try:
            self._judge(item, loops)
        except (pytest.fail.Exception, pytest.skip.Exception) as error:
            outcome.force_exception(error)

    def _judge(self, item: pytest.Item, loops: List[Turns]) -> None:
        limits = _LimitMarker.of(item).limits
        verdicts = [(loop, *_verdict(loop, limits, self._config)) for loop in loops]
        self._rows += [(loop, verdict) for loop, verdict, _ in verdicts if loop.blocks]
        self._loops += [loop for loop, verdict, _ in verdicts if loop.blocks and verdict != "inconclusive"]
        if not limits:
            return
        told = {
            kind: [words for _, verdict, words in verdicts if verdict == kind] for kind in ("exceeded", "inconclusive")
        }
        if told["exceeded"]:
            pytest.fail("\n".join(told["exceeded"]), pytrace=False)
        if not loops:
            pytest.skip("inconclusive: the test took no turn of howlate_loop")
        if told["inconclusive"]:
            pytest.skip("inconclusive: " + "; ".join(told["inconclusive"]))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self._loops or hasattr(self._config, "workerinput"):
            return
        from howlate.errors import HowlateError

        try:
            self._finish(session)
        except (HowlateError, OSError) as error:
            self._messages.append(f"error: {error}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _finish(self, session: pytest.Session) -> None:
        option = self._config.getoption
        name = option("--howlate-save") or ("run" if option("--howlate-autosave") else None)
        wanted = option("--howlate-compare")
        if name is None and wanted is None:
            return
        storage = _Storage(Path(self._config.rootpath, option("--howlate-storage")))
        base = storage.find(wanted) if wanted is not None else None
        text = _recording(self._loops, [str(word) for word in self._config.invocation_params.args])
        if name is not None:
            self._messages.append(f"saved: {storage.save(name, text)}")
        if wanted is None:
            return
        if base is None:
            self._messages.append(f"nothing to compare with in {storage.folder}: no run has been saved")
            session.exitstatus = session.exitstatus or (pytest.ExitCode.TESTS_FAILED if self._fails else 0)
            return
        self._compare(session, base, text)

    def _compare(self, session: pytest.Session, base: Path, text: bytes) -> None:
        from howlate.measure import compare
        from howlate.recording import parse

        self._compared = compare(base, parse(text, "this run"))
        self._messages.append(f"compared with {base}: {self._compared.answer}")
        for worse in self._fails:
            said = worse.of(self._compared)
            self._messages += said
            if said:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._rows:
            return
        terminalreporter.section("howlate: lateness of every planned turn, µs")
        for line in _table(self._rows):
            terminalreporter.write_line(line)
        for line in self._messages:
            terminalreporter.write_line(line)
        for line in _differences(self._compared) if self._compared else ():
            terminalreporter.write_line(line)


def _verdict(loop: Turns, limits: List[Limit], config: pytest.Config) -> Tuple[str, str]:
    """`within`, `exceeded` or `inconclusive`, and in words."""
    count = loop.planned().count
    if loop.settings is None or not count:
        return "inconclusive", f"{loop.name}: no turn was taken"
    if loop.settings.refused:
        return "inconclusive", "; ".join(str(one) for one in loop.settings.refused)
    if hasattr(config, "workerinput"):
        return "inconclusive", "other workers of pytest-xdist keep the CPUs busy: run it with -p no:xdist"
    found = [(limit, limit.value(loop)) for limit in limits if count >= limit.needed]
    exceeded = [
        f"{loop.name}: {limit.statistic} is {_value(limit, value)}, limit {limit.text}"
        for limit, value in found
        if value >= limit.below
    ]
    if exceeded:
        return "exceeded", "\n".join(exceeded)
    short = [
        f"{limit.statistic} takes {limit.needed} turns, and there were {count}"
        for limit in limits
        if count < limit.needed
    ]
    return ("inconclusive", "; ".join(short)) if short else ("within" if limits else "", "")


def _value(limit: Limit, value: float) -> str:
    return (
        f"{value:g}"
        if limit.statistic == "missed"
        else f"{value / 1000:.3g} µs"
        if value < 1_000_000
        else f"{value / 1e6:.3g} ms"
    )


def _differs(number: Statistic) -> bool:
    """Whether chance explains no difference. Runs that are kept are made one after the other, for which there is no verdict:
    whoever asks for a failure has decided that the machine is the same."""
    return number.verdict == "worse" or number.reason == "one_after_the_other"


class _Worse:
    """`p99:5%`: worse by more than this fails."""

    def __init__(self, text: str) -> None:
        from howlate.thread_settings import nanoseconds

        match = re.fullmatch(r"(p50|p99|p99\.9|max):(?:(\d+(?:\.\d+)?)%|(\d.*))", text)
        if not match:
            raise ValueError(
                f"--howlate-compare-fail: {text!r} is not like 'p99:5%' or 'max:100us' (p50, p99, p99.9 or max)"
            )
        self._statistic, self._text = match[1], text
        self._percent = float(match[2]) if match[2] else None
        self._nanos = nanoseconds(match[3]) if match[3] else 0

    def of(self, compared: Comparison) -> List[str]:
        """What got worse by more."""
        found: List[str] = []
        for one in compared:
            for number in one.statistics:
                base, difference = number.base_ns, number.difference_ns
                if (
                    number.statistic != self._statistic
                    or not _differs(number)
                    or base is None
                    or difference is None
                ):
                    continue
                if difference > (self._nanos if self._percent is None else abs(base) * self._percent / 100):
                    found.append(
                        f"FAILED {self._text}: {one.new.name}: {number.statistic} is {difference / 1000:.3g} µs higher than {base / 1000:.3g} µs"
                    )
        return found


class _Storage:
    """Where runs are saved: `.howlate/MACHINE/NNNN_NAME.jsonl`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / re.sub(r"[^\w.-]", "_", os.uname().nodename)

    def _saved(self) -> Dict[int, Path]:
        return {int(path.name[:4]): path for path in sorted(self.folder.glob("[0-9][0-9][0-9][0-9]_*.jsonl"))}

    def find(self, number: str) -> Optional[Path]:
        """The run of this number; the last one if there is none. Raises `FileNotFoundError`."""
        saved = self._saved()
        if not number:
            return saved[max(saved)] if saved else None
        if not number.isdigit() or int(number) not in saved:
            there = ", ".join(path.name for path in saved.values()) or "none"
            raise FileNotFoundError(f"there is no saved run {number!r} in {self.folder}; there are: {there}")
        return saved[int(number)]

    def save(self, name: str, text: bytes) -> Path:
        """Saves it as the next one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{max(self._saved(), default=0) + 1:04}_{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.jsonl"
        with open(path, "xb") as file:
            file.write(text)
        return path


def _recording(loops: List[Turns], arguments: List[str]) -> bytes:
    """The loops as a recording of this machine, which the program describes."""
    import json

    from howlate.measure import cyclic
    from howlate.turns import lines

    described = cyclic(threads=1, samples=1, no_save=True, progress=False).recording
    assert described is not None, "every measurement has one"
    return "".join(json.dumps(line) + "\n" for line in lines(described.header, loops, ["pytest", *arguments])).encode()


def _table(rows: List[Tuple[Turns, str]]) -> List[str]:
    from howlate.html import micros

    head = ("turns of", "median", "p99", "max", "missed", "limits")
    cells: List[Tuple[str, ...]] = [head]
    for loop, verdict in rows:
        planned = loop.planned()
        p99 = planned.quantile(0.99) if planned.count >= 100 else None
        cells.append(
            (loop.name, micros(planned.quantile(0.5)), micros(p99), micros(planned.max_ns), str(loop.missed), verdict)
        )
    return _aligned(cells)


def _differences(compared: Comparison) -> List[str]:
    from howlate.html import micros

    cells: List[Tuple[str, ...]] = [("compared", "", "base", "this run", "verdict")]
    for one in compared:
        for number in one.statistics:
            cells.append(
                (
                    one.new.name or one.new.label,
                    number.statistic,
                    micros(number.base_ns),
                    micros(number.new_ns),
                    number.verdict.replace("_", " "),
                )
            )
    return _aligned(cells) if len(cells) > 1 else []


def _aligned(cells: List[Tuple[str, ...]]) -> List[str]:
    widths = [max(map(len, column)) for column in zip(*cells)]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths))
        )
        for row in cells
    ]
