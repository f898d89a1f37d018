"""From the records of a run to its numbers.

A record is added and may be forgotten. Memory doesn't grow with tokens; with requests it grows by 16 bytes
each, and by a few more for each rule that is judged. The same records give the same summary, during a run and
from its journal years later.
"""

from __future__ import annotations

from harness.summary.summarizer import Summarizer as Summarizer
from harness.summary.summarizer import SummaryState as SummaryState
from harness.summary.summary import Summary as Summary
