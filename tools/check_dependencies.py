#!/usr/bin/env python3
"""Holds the licences and duplicates of the nearest deny.toml against Cargo.lock, and names dependencies that no code names, with
nothing but cargo: tools/check_dependencies.py MANIFEST…
"""

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

TOKEN = re.compile(r"[()]|OR|AND|[\w.+-]+(?: WITH [\w.+-]+)?")


def rules_of(manifest: str) -> dict:
    """Of the deny.toml that cargo-deny takes: the nearest one above the manifest."""
    above = (folder / "deny.toml" for folder in Path(manifest).resolve().parents)
    return tomllib.loads(next(file for file in above if file.exists()).read_text())


def is_allowed(expression: str, allowed: Collection[str]) -> bool:
    """Can the SPDX expression be met with allowed licences alone?"""
    tokens = TOKEN.findall(expression.replace("/", " OR "))
    truth = [{"OR": "or", "AND": "and"}.get(t, t if t in "()" else str(t in allowed)) for t in tokens]
    return bool(tokens) and bool(eval(" ".join(truth)))


def metadata(manifest: str, rules: dict) -> dict:
    """What cargo knows of the workspace."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--all-features", "--manifest-path", manifest]
    command += [f"--filter-platform={rules['graph']['targets'][0]}"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def needed(found: dict, rules: dict) -> list[dict]:
    """What the workspace's own packages need, those outside the rules left out."""
    known = {package["id"]: package for package in found["packages"]}
    needs = {node["id"]: node["dependencies"] for node in found["resolve"]["nodes"]}
    open_ids = [i for i in found["workspace_members"] if known[i]["name"] not in rules["graph"].get("exclude", [])]
    reached = set(open_ids)
    while open_ids:
        new = set(needs[open_ids.pop()]) - reached
        reached |= new
        open_ids += new
    return [known[i] for i in sorted(reached)]


def unused(package: dict, native: Collection[str]) -> list[str]:
    """Dependencies of a package that its code does not name; those of tests may be named anywhere. `native` are there for a build
    script, which need not name them.
    """
    folder = Path(package["manifest_path"]).parent
    files = [file.relative_to(folder) for file in folder.rglob("*.rs") if "target" not in file.parts]
    words = {file: set(re.findall(r"\w+", (folder / file).read_text())) for file in files}
    everywhere = set().union(*words.values())
    shipped = set().union(*(w for file, w in words.items() if file.parts[0] not in ("tests", "benches", "examples")))
    named = {None: shipped, "dev": everywhere, "build": everywhere}
    return [
        d["name"]
        for d in package["dependencies"]
        if d["name"] not in native and (d["rename"] or d["name"]).replace("-", "_") not in named[d["kind"]]
    ]


def faults(manifest: str) -> list[str]:
    """One line for each dependency without a use, each licence that is not allowed and each crate that is there twice."""
    versions = defaultdict(list)
    lines = []
    rules = rules_of(manifest)
    allowed = rules["licenses"]["allow"]
    skipped = [skip["crate"].split("@") for skip in rules["bans"]["skip"]]
    found = metadata(manifest, rules)
    native = {package["name"] for package in found["packages"] if package["links"]}
    for package in found["packages"]:
        if package["id"] in found["workspace_members"]:
            lines += [f"{package['manifest_path']}: {name} is not used" for name in unused(package, native)]
    for package in needed(found, rules):
        name, version, licence = package["name"], package["version"], package["license"] or ""
        if not is_allowed(licence, allowed):
            lines.append(
                f"{manifest}: {name} {version} is under {licence or 'no licence'}; allowed: {', '.join(sorted(allowed))}"
            )
        if not any(name == n and f"{version}.".startswith(f"{v}.") for n, v in skipped):
            versions[name].append(version)
    lines += [
        f"{manifest}: {n} is there in versions {', '.join(v)}: see deny.toml" for n, v in versions.items() if len(v) > 1
    ]
    return lines


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: tools/check_dependencies.py MANIFEST…: without a manifest nothing would be checked")
    found = [line for manifest in sys.argv[1:] for line in faults(manifest)]
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    sys.exit(bool(found))
