"""The objectives as JUnit XML: a test case for each rule, and one for the measurement itself.

PASS is a passed case. FAIL and INCONCLUSIVE are failures: the objective was not shown to hold.
INVALID is an error: nothing was shown at all. A run that was interrupted or can't be trusted has its
error in the case ``measurement is valid``.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from reports import headline, view
from reports.result import Verdict
from reports.text import printable

if TYPE_CHECKING:
    from reports.result import Result, RuleResult

FILE_NAME = "junit.xml"


def render(result: Result) -> str:
    """One test suite."""
    cases = [_measurement(result), *(_case(result, rule) for rule in result.rules)]
    counts = {kind: sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error")}
    suite = ET.Element(
        "testsuite",
        name=printable(f"tokenpace {result.scenario_name}"),
        tests=str(len(cases)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        time=f"{result.duration_s:.3f}",
        timestamp=printable(result.started_at),
    )
    suite.append(_properties(result))
    suite.extend(cases)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _properties(result: Result) -> ET.Element:
    facts = {
        "tokenpace.verdict": headline.status(result),
        "tokenpace.version": result.tool_version,
        "tokenpace.model": result.model,
        "tokenpace.base_url": result.base_url,
        "tokenpace.seed": str(result.seed),
        "tokenpace.requests": str(result.num_requests),
    }
    facts |= {f"tokenpace.{rate.name}": repr(rate.value) for rate in result.rates if rate.value is not None}
    element = ET.Element("properties")
    for name, value in facts.items():
        ET.SubElement(element, "property", name=name, value=printable(value))
    return element


def _measurement(result: Result) -> ET.Element:
    case = _new_case(result, "measurement is valid", result.duration_s)
    reasons = list(result.causes)
    if result.interrupted is not None or (result.verdict is Verdict.INVALID and not reasons):
        reasons.append(headline.sentence(result))
    if reasons:
        _trouble(case, "error", headline.status(result), "\n".join(reasons))
    return case


def _case(result: Result, rule: RuleResult) -> ET.Element:
    case = _new_case(result, rule.rule, 0.0)
    line = view.rule_line(rule)
    facts = f"observed {line.observed}, limit {line.limit}, n {line.n}, interval {line.interval}"
    if rule.verdict is Verdict.PASS:
        ET.SubElement(case, "system-out").text = facts
    else:
        kind = "error" if rule.verdict is Verdict.INVALID else "failure"
        _trouble(case, kind, rule.verdict.value, f"{rule.message or rule.rule}\n{facts}")
    return case


def _new_case(result: Result, name: str, seconds: float) -> ET.Element:
    classname = printable(f"tokenpace.{result.scenario_name}")
    return ET.Element("testcase", classname=classname, name=printable(name), time=f"{seconds:.3f}")


def _trouble(case: ET.Element, kind: str, verdict: str, text: str) -> None:
    text = printable(text)
    ET.SubElement(case, kind, type=verdict, message=f"{verdict}: {text.partition(chr(10))[0]}").text = text
