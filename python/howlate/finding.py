"""What on this machine makes wake-ups late, as `howlate doctor` says it."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping, Optional, Tuple

from howlate.schema import build

#: What a finding means for punctuality, from worst to best.
VERDICTS = ("blocks", "costs", "unknown", "note", "good")


@dataclass(frozen=True)
class Remedy:
    """What to type, what undoes it, what makes it last, and what it costs others."""

    apply: Tuple[str, ...]
    undo: Tuple[str, ...]
    lasting: Tuple[str, ...] = ()
    price: Optional[str] = None


@dataclass(frozen=True)
class Cost:
    """What it typically costs, and who says so."""

    typical: str
    source: str


@dataclass(frozen=True)
class Evidence:
    """What was read, and where."""

    path: str
    value: str


@dataclass(frozen=True)
class Finding:
    """One finding. `verdict` is `blocks`, `costs`, `unknown`, `note` or `good`."""

    id: str
    verdict: str
    found: str
    why: str
    evidence: Tuple[Evidence, ...]
    cost: Optional[Cost] = None
    remedy: Optional[Remedy] = None


@dataclass(frozen=True)
class Diagnosis:
    """What `howlate doctor` found: a sequence of findings."""

    findings: Tuple[Finding, ...]
    system: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __getitem__(self, key: str) -> Finding:
        """The finding of this id. Raises `KeyError`."""
        return {finding.id: finding for finding in self.findings}[key]

    @property
    def to_mend(self) -> Tuple[Finding, ...]:
        """Those that make wake-ups late, and for which something can be done."""
        return tuple(finding for finding in self.findings if finding.verdict in ("blocks", "costs") and finding.remedy)

    def _repr_html_(self) -> str:
        cells = (
            (finding.verdict, finding.found, "; ".join(finding.remedy.apply) if finding.remedy else "")
            for finding in self.findings
        )
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
        return f"<table><thead><tr><th>verdict</th><th>found</th><th>to mend it</th></tr></thead><tbody>{rows}</tbody></table>"


def from_json(document: Mapping[str, Any]) -> Diagnosis:
    """A diagnosis from the program's JSON."""
    findings = tuple(build(Finding, finding) for finding in document["findings"])
    return Diagnosis(findings, document.get("system", {}))
