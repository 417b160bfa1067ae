"""The manifest of a checkpoint: which rules have their state on which shards.

State is found by the names of shards. Were a rule on other shards after a restart, or shards named
otherwise, it would begin anew without a word; so one key of the state holds what was where, and a
plan that does not fit is an error that says what may not change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cepheid.algebra.codec import encode
from cepheid.errors import SnapshotError
from cepheid.spark.plan import Group, Plan

KEY = "manifest"
"""Under which the manifest is found; names of shards have a slash."""
_HINT = "\n\nhint: start with the old value, or with a new checkpoint"


def written(plan: Plan) -> str:
    """The manifest of a plan."""
    return json.dumps({group.name: _entry(group) for group in plan.groups})


def _entry(group: Group) -> dict[str, Any]:
    # In an open group rules come and go, and every shard keeps the same ones.
    rules = {} if group.open else {rule.name: _digest(encode(rule)) for rule in group.rules}
    return {"key": dict(group.key), "shards": list(group.shards), "rules": rules, "gone": False}


def _digest(rule: object) -> str:
    return hashlib.blake2b(json.dumps(rule).encode(), digest_size=8).hexdigest()


def checked(before: str, now: str) -> str:
    """The manifest from here on, if there may be state of both; else an error says what is not."""
    old: dict[str, dict[str, Any]] = json.loads(before)
    new: dict[str, dict[str, Any]] = json.loads(now)
    for name in old.keys() & new.keys():
        _check_shards(name, old[name], new[name])
    _check_homes(old, new)
    gone = {name: {**old[name], "gone": True} for name in old if name not in new}
    return json.dumps({**gone, **new})


def _check_shards(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    if old["gone"]:
        raise SnapshotError(
            f"rules by {name} must have been there at every start since the checkpoint was begun; "
            "they were left out in between, and their state is old\n\n"
            "hint: start with a new checkpoint"
        )
    # A rule that is new may look at types that nobody did; the key of others stays.
    if any(new["key"].get(type_, own) != own for type_, own in old["key"].items()):
        raise SnapshotError(_changed("key", name, old["key"], new["key"]))
    if len(old["shards"]) != len(new["shards"]):
        raise SnapshotError(_changed("shards", name, len(old["shards"]), len(new["shards"])))
    if old["shards"] != new["shards"]:
        raise SnapshotError(
            "spark.sql.shuffle.partitions must be what it was when the checkpoint was written: "
            f"shards of {name} are named after it{_HINT}"
        )


def _changed(what: str, name: str, old: object, new: object) -> str:
    return (
        f"{what} of {name} must be what it was when the checkpoint was written, {old}; "
        f"got {new}{_HINT}"
    )


def _check_homes(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """A rule that is as it was must be where it was."""
    homes = {rule: (name, own) for name, e in new.items() for rule, own in e["rules"].items()}
    for name, entry in old.items():
        for rule, digest in entry["rules"].items():
            home, own = homes.get(rule, (name, digest))
            if not entry["gone"] and own == digest and home != name:
                raise SnapshotError(
                    f"rule {rule} must stay on the shards of {name}, where its state is; "
                    f"with the other rules as they are now it is on those of {home}\n\n"
                    "hint: give it another name so that it begins anew, run the rules that it "
                    "listens to or that listen to it in a stream of their own, or start with a "
                    "new checkpoint"
                )
