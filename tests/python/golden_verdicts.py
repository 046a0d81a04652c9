"""The golden verdicts, and the only way to change one: with a new sentence that says why.

    python tests/python/golden_verdicts.py ccp-9 undecided "The interval reaches the bound since losses are counted per flow."

Each verdict is sealed together with its sentence, so that one edited without the other is found.
"""

import hashlib
import json
import sys
from pathlib import Path

PATH = Path(__file__).parent / "golden" / "verdicts.json"
LEAST_WORDS = 5


def load():
    """Study → claim → {quick, because, seal}."""
    return json.loads(PATH.read_text())


def seal(claim, verdict, because):
    """Binds a verdict to its sentence."""
    return hashlib.sha256(f"{claim}\n{verdict}\n{because}".encode()).hexdigest()[:12]


def complaint(claim, entry, found):
    """What is wrong with a golden entry, given the verdict that was found; None if nothing is."""
    if entry["seal"] != seal(claim, entry["quick"], entry["because"]):
        return f"{claim}: verdict and reason were not changed together; use tests/python/golden_verdicts.py"
    if found != entry["quick"]:
        return (
            f"{claim} is {found}, was {entry['quick']}; if that is right, say why with tests/python/golden_verdicts.py"
        )
    return None


def changed(claim, entry, verdict, because):
    """The entry for a new verdict. The sentence must be new, and one."""
    if len(because.split()) < LEAST_WORDS or not because.endswith("."):
        raise ValueError(f"{claim}: say why in a sentence of at least {LEAST_WORDS} words")
    if because == entry.get("because"):
        raise ValueError(f"{claim}: that is the old reason; say why the verdict is another now")
    return {"quick": verdict, "because": because, "seal": seal(claim, verdict, because)}


def main(claim, verdict, because):
    golden = load()
    study = claim.rpartition("-")[0]
    golden[study][claim] = changed(claim, golden[study].get(claim, {}), verdict, because)
    PATH.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
