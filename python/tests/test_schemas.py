"""The classes have what the JSON has: a field that a schema grows is to be had here as well."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, Set, Type

import pytest
from conftest import RECORDINGS, ROOT, recording

import howlate
from howlate import comparison, condition, finding, result
from howlate.schema import build, json_name

CLASSES: Dict[str, Type[Any]] = {
    "Document": result.Result,
    "Entry": result.ConditionResult,
    "Condition": condition.Condition,
    "Summary": result.Summary,
    "Interval": result.Interval,
    "Worst": result.Worst,
    "InForce": result.InForce,
    "Usage": result.Usage,
    "Why": result.Why,
    "WhyCause": result.Cause,
    "WhyRemedy": result.CauseRemedy,
    "WhyLate": result.Late,
    "WhyPart": result.Part,
    "Segment": result.Segment,
    "Explained2": result.Explained,
    "Finding": finding.Finding,
    "Remedy": finding.Remedy,
    "Cost": finding.Cost,
    "Evidence": finding.Evidence,
    "LimitEntry": result.Limit,
}


def properties(schema: Dict[str, Any]) -> Set[str]:
    """All names of an object, whichever of its kinds it is."""
    inner = [one for key in ("allOf", "oneOf", "anyOf") for one in schema.get(key, [])]
    return set(schema.get("properties", {})).union(*map(properties, inner))


def own(cls: Type[Any]) -> Set[str]:
    fields = [one for one in dataclasses.fields(cls) if not one.metadata.get("own") and one.name != "details"]
    return {json_name(one.name) for one in fields}


DEFINITIONS = json.loads((ROOT / "docs/result.schema.json").read_text())["$defs"]


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_every_field_of_its_schema(name: str) -> None:
    assert own(CLASSES[name]) == properties(DEFINITIONS[name])


@pytest.mark.parametrize("name", CLASSES)
def test_what_a_schema_requires_has_no_default_but_may_be_null(name: str) -> None:
    for one in dataclasses.fields(CLASSES[name]):
        is_optional = one.default is not dataclasses.MISSING or one.default_factory is not dataclasses.MISSING
        if json_name(one.name) in DEFINITIONS[name].get("required", []) and one.name not in ("thread", "in_force"):
            assert not is_optional, one.name


def test_classes_are_frozen() -> None:
    for cls in [*CLASSES.values(), comparison.Comparison, howlate.Recording]:
        assert cls.__dataclass_params__.frozen, cls


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_result_can_be_built_and_holds_the_json(path: Any) -> None:
    found = howlate.read(path).result
    assert [one.condition.kind for one in found] == [one["condition"]["kind"] for one in found.json["results"]]
    for one, stored in zip(found, found.json["results"]):
        assert one.why is None or len(one.why.causes) == len(stored["why"]["causes"])
        assert all(caveat.details["text"] == caveat.text for caveat in one.caveats)
    assert found.insights == tuple(found.json["insights"])


def test_a_comparison_has_every_name_that_the_program_prints() -> None:
    found = howlate.compare(recording("policies"), by="policy")
    printed = set(found.details) - {"format", "howlate", "command", "comparisons", "caveats"}
    assert printed - {"margin_ns", "margin_percent"} <= own(comparison.Comparison)
    for one in found:
        left_to_details = {"left_out", "percent", "base_maximum", "new_maximum"}
        assert set(one.details) - left_to_details <= own(comparison.Compared)
        for number in one.statistics:
            assert set(number.details) <= own(comparison.Statistic)
    assert found.verdict == "better" and found.compared[0].statistics[0].difference_ns is not None


def test_a_result_that_lacks_what_it_must_have_is_refused() -> None:
    with pytest.raises(howlate.HowlateError, match="`p50`"):
        build(result.Summary, {"min": 1, "mean": 1.0, "stddev": 0.0})
