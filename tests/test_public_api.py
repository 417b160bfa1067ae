"""What users see: documented names with examples, a light import, types that ship."""

from __future__ import annotations

import doctest
import enum
import inspect
import subprocess
import sys
from importlib import import_module, resources
from types import ModuleType

import pytest

import cepheid
from cepheid import algebra, testing

MODULES: dict[str, ModuleType] = {
    "cepheid": cepheid,
    "cepheid.algebra": algebra,
    "cepheid.testing": testing,
}


def own_names(module: ModuleType) -> list[str]:
    """The public names of a module: those it lists, or those it defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and (inspect.isclass(value) or inspect.isfunction(value))
    ]


NAMES = [(path, name) for path, module in MODULES.items() for name in own_names(module)]


def is_documented_by_itself(value: object) -> bool:
    return inspect.isclass(value) or inspect.isfunction(value)


@pytest.mark.parametrize(("path", "name"), NAMES)
def test_public_name_has_a_docstring(path: str, name: str) -> None:
    value = getattr(MODULES[path], name)
    if is_documented_by_itself(value):
        text = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
        assert text
        assert not text.startswith(f"{name}("), "a docstring that dataclass made says nothing"
        assert text.strip()[0].isupper() or text.strip()[0] == "`"


@pytest.mark.parametrize(("path", "name"), NAMES)
def test_public_methods_have_docstrings(path: str, name: str) -> None:
    value = getattr(MODULES[path], name)
    if not inspect.isclass(value):
        return
    for attribute, member in vars(value).items():
        if attribute.startswith("_") or isinstance(member, enum.Enum):
            continue
        function = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
        if inspect.isfunction(function):
            assert function.__doc__, f"{name}.{attribute}"


@pytest.mark.parametrize("name", cepheid.__all__)
def test_name_of_the_package_has_an_example(name: str) -> None:
    value = getattr(cepheid, name)
    examples = doctest.DocTestFinder(recurse=False).find(value, name, globs={})
    assert any(example for found in examples for example in found.examples)


def test_the_public_names_are_those_of_the_design() -> None:
    for name in ("load", "Rules", "Event", "CompositeEvent", "Schema", "RuleError"):
        assert name in cepheid.__all__
    for name in ("read_cases", "parse_cases", "run_case", "RUNTIMES", "Case", "Result"):
        assert hasattr(testing, name)


@pytest.mark.parametrize("path", MODULES)
def test_listed_names_exist_and_are_sorted(path: str) -> None:
    listed = getattr(import_module(path), "__all__", [])
    assert len(listed) == len(set(listed))
    assert all(hasattr(MODULES[path], name) for name in listed)
    assert listed == sorted(
        listed, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )


def test_errors_of_the_package_have_one_base() -> None:
    for name in cepheid.__all__:
        value = getattr(cepheid, name)
        if inspect.isclass(value) and issubclass(value, Exception):
            assert issubclass(value, cepheid.CepheidError)


def test_importing_the_package_imports_no_large_library() -> None:
    large = ["pyspark", "numpy", "pandas", "pyarrow", "polars", "numba"]
    code = (
        "import sys, cepheid, cepheid.cli, cepheid.testing;"
        f"print([name for name in {large} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_events_of_arrow_and_of_lists_are_matched_without_pandas() -> None:
    """pyarrow would import it, which costs memory, and time before the first composite event."""
    code = """
import io, sys
import cepheid
from pyarrow import csv

rules = cepheid.load(
    "Rule R define Fire(area: string, t: double, n: int) from Smoke(area = $a) "
    "and last Temp(area = $a and value > 45) within 5 min from Smoke "
    "where area = Smoke.area and t = Temp.value and n = 1",
    language="tesla",
)
rows = b"type,ts,area,value,wet\\nTemp,1,a,50.5,\\nTemp,2,b,9.5,true\\nSmoke,3,a,,\\n"
table = csv.read_csv(io.BytesIO(rows))
assert len(rules.detect(table, unit="s")) == 1
events = [{"type": "Temp", "ts": 1, "area": "a", "value": 50.5},
          {"type": "Temp", "ts": 2, "value": 1.0}, {"type": "Smoke", "ts": 3, "area": "a"}]
assert len(rules.detect(events, unit="s")) == 1
with rules.engine(unit="s") as engine:
    assert len(engine.push_batch(table)) == 1
    engine = cepheid.restore(engine.snapshot())
    found = [one for event in events for one in engine.push({**event, "ts": 5 + event["ts"]})]
print(len(found), "pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1 False"


def test_types_and_grammars_ship_with_the_package() -> None:
    files = resources.files("cepheid")
    assert files.joinpath("py.typed").is_file()
    for language in ("tesla", "sase", "laipl", "core", "pretty"):
        assert files.joinpath("languages", language, "grammar.lark").is_file()
    assert files.joinpath("languages", "common.lark").is_file()
