"""Arguments for the program, and results from its output; independent of how the program is run."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from howlate import comparison, finding, result
from howlate.comparison import Comparison
from howlate.errors import HowlateError, Inconclusive, LimitExceeded
from howlate.finding import Diagnosis
from howlate.options import Option, words
from howlate.process import Outcome
from howlate.recording import Recording, parse, read
from howlate.result import Result

#: What is compared: a recording, a result that has one, or the path of one.
Comparable = Union[Recording, Result, str, "os.PathLike[str]"]


class Measurement:
    """One measurement: the arguments for the program, and the result from its output."""

    def __init__(
        self, command: str, operands: Sequence[str], options: Mapping[str, Option], last: Sequence[str] = ()
    ) -> None:
        options = dict(options)
        for name in ("json", "format", "quiet"):
            if name in options:
                raise TypeError(
                    f"{name} is no option here: the result is an object; `progress=False` shows no progress"
                )
        self._folder = tempfile.mkdtemp(prefix="howlate-python-")
        self._out = options.pop("out", None)
        # `why` has no JSON of its own: its recording has it.
        self._has_json = command != "why"
        self._samples = options.get("samples_out")
        if self._out is not None and os.path.lexists(os.fspath(self._out)):  # type: ignore[arg-type]
            shutil.rmtree(self._folder)
            raise FileExistsError(f"{self._out} already exists; refusing to overwrite it")
        self._path = os.fspath(self._out) if self._out is not None else os.path.join(self._folder, "run.jsonl")  # type: ignore[arg-type]
        arguments = [*words({"out": self._path, **options})]
        arguments += ["--json", "--details"] if self._has_json else []
        # What cannot be an option follows `--`, which only `watch` takes for its program.
        self.words = [command, *arguments, *operands, *(["--", *last] if last else [])]

    def __enter__(self) -> Measurement:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def result(self, outcome: Outcome, check: bool) -> Result:
        """The result; raises by the program's exit status if `check` is set."""
        if outcome.status not in (0, 1, 3):
            raise HowlateError(_error_message(outcome, self._out))
        recording = parse(Path(self._path).read_bytes(), str(self._out or "recording"))
        if self._has_json:
            own: Dict[str, Any] = {"status": outcome.status, "words": outcome.words, "recording": recording}
            if self._samples is not None:
                own["samples_file"] = str(self._samples)
            found = result.from_json(_document(outcome), **own)
        else:
            found = recording.result
        if check:
            _raise(outcome, found)
        return found


def _document(outcome: Outcome) -> Mapping[str, Any]:
    try:
        document: Mapping[str, Any] = json.loads(outcome.output)
    except ValueError as error:
        raise HowlateError(f"the program's result cannot be read: {error}\n{outcome.words}".strip()) from error
    return document


def _error_message(outcome: Outcome, kept: Optional[Option]) -> str:
    """The error message."""
    if outcome.status < 0:
        saved_at = f"; what was recorded until then is in {kept}" if kept else ""
        return f"the program was ended by signal {-outcome.status}{saved_at}\n{outcome.words}".strip()
    message = outcome.words[len("error: ") :] if outcome.words.startswith("error: ") else outcome.words
    return message or f"the program ended with status {outcome.status} and no word"


def _raise(outcome: Outcome, found: Union[Result, Comparison]) -> None:
    """What the status means, unless it is that all is well."""
    if outcome.status == 1:
        raise LimitExceeded(_last_words(outcome, found), found)
    # After Ctrl-C, the partial result is returned without an exception.
    if outcome.status == 3 and not outcome.interrupted:
        raise Inconclusive(_last_words(outcome, found), found)


def _last_words(outcome: Outcome, found: Union[Result, Comparison]) -> str:
    """The program's messages, or, where it says it in the result, the result's."""
    if isinstance(found, Comparison):
        return found.answer
    caveats = [*found.caveats, *(caveat for one in found for caveat in one.caveats)]
    texts = list(dict.fromkeys(caveat.text for caveat in caveats))
    return outcome.words or "\n".join(texts) or "not everything was as asked"


class Comparing:
    """A comparison by the program."""

    def __init__(self, recordings: Sequence[Comparable], options: Mapping[str, Option]) -> None:
        self._folder = tempfile.mkdtemp(prefix="howlate-python-")
        try:
            paths = [_path(one, os.path.join(self._folder, f"{at}.jsonl")) for at, one in enumerate(recordings)]
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self.words = ["compare", *words({"format": "json", **options}), *paths]

    def __enter__(self) -> Comparing:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def result(self, outcome: Outcome, check: bool) -> Comparison:
        """The comparison; raises by the program's exit status if `check` is set."""
        if outcome.status not in (0, 1, 3):
            raise HowlateError(_error_message(outcome, None))
        found = comparison.from_json(_document(outcome), outcome.status, outcome.words)
        if check:
            _raise(outcome, found)
        return found


def _path(one: Comparable, temporary: str) -> str:
    """A file with that recording."""
    if isinstance(one, Result):
        if one.recording is None:
            raise HowlateError("this result has no recording: it was read from JSON")
        one = one.recording
    if not isinstance(one, Recording):
        # Absolute, so that no file name is parsed as an option.
        return os.path.abspath(one)
    one.save(temporary)
    return temporary


def diagnosis(outcome: Outcome) -> Diagnosis:
    """The output of `howlate doctor --json`."""
    if outcome.status != 0:
        raise HowlateError(_error_message(outcome, None))
    return finding.from_json(_document(outcome))


def watched(program: Union[int, str, Sequence[str]]) -> Dict[str, List[str]]:
    """A process by its id or name, or a command to start, as arguments of `watch`."""
    if isinstance(program, bool) or not isinstance(program, (int, str, list, tuple)):
        raise TypeError(f"watch takes a process id, a name, or a command as a list of words, and not {program!r}")
    if isinstance(program, (int, str)):
        return {"operands": [str(program)], "last": []}
    return {"operands": [], "last": [os.fspath(word) for word in program]}


__all__ = ["Comparable", "Comparing", "Measurement", "diagnosis", "read", "watched"]
