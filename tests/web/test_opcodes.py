"""How many opcodes of ours requests take: figures that no load of a machine changes, bounded by those recorded last."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COUNTER = Path(__file__).parents[1] / "benchmarks" / "opcodes.py"
RECORDED = json.loads(COUNTER.with_suffix(".json").read_text())
MOST_OF_RECORDED = 1.1
COMPARED = ("similar", "recommendation", "profile", "content", "interaction")


@pytest.mark.skipif(list(sys.version_info[:2]) != RECORDED["python"], reason="another Python has other opcodes")
def test_requests_take_no_more_opcodes_than_a_tenth_above_those_recorded() -> None:
    printed = subprocess.run([sys.executable, COUNTER, "--json"], check=True, capture_output=True, text=True).stdout
    opcodes, recorded = json.loads(printed.splitlines()[-1]), RECORDED["opcodes"]
    sys.stdout.write("".join(f"{name}: {opcodes[name]} opcodes, recorded {recorded[name]}\n" for name in COMPARED))

    grown = {name: opcodes[name] for name in COMPARED if opcodes[name] > recorded[name] * MOST_OF_RECORDED}
    assert not grown, f"recorded are {recorded}; a change that is worth it records its own (opcodes.py --record)"
