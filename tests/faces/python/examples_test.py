"""Runs the examples in the docstrings and those of docs/PYTHON.md, each in an empty folder."""

import doctest
import inspect
import pathlib
import subprocess
import sys

import nestline
import pytest


def examples():
    """The docstrings with examples, of the package, its functions, classes and members."""
    owners = [("nestline", nestline)]
    for name, value in vars(nestline).items():
        if inspect.isclass(value) or callable(value):
            owners.append((f"nestline.{name}", value))
        if inspect.isclass(value):
            owners += [(f"nestline.{name}.{key}", member) for key, member in vars(value).items()]
    for name, owner in owners:
        text = inspect.getdoc(owner) or ""
        test = doctest.DocTestParser().get_doctest(text, dict(vars(nestline)), name, None, None)
        if test.examples:
            yield pytest.param(test, id=name)


def test_there_are_examples():
    assert len(list(examples())) > 25


@pytest.mark.parametrize("test", examples())
def test_example(test, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = []
    doctest.DocTestRunner().run(test, out=out.append)
    assert not out, "".join(out)


def test_every_public_name_has_a_docstring():
    for name, value in vars(nestline).items():
        if name.startswith("_") or inspect.ismodule(value):
            continue
        assert value.__doc__, name
        if inspect.isclass(value) and not issubclass(value, Exception):
            for member, function in vars(value).items():
                if not member.startswith("_"):
                    assert function.__doc__ and function.__doc__.strip(), (name, member)


DOCUMENTS = pathlib.Path(__file__).resolve().parents[2] / "documents" / "examples"
PRINT = {
    "filter": "True False\nTrue 500001\n[ True False] 10\nTrue\n",
    "strings": "[ True False]\n[ True False]\n[False  True]\nTrue\n",
    "threads": "2000000 2000000\n",
    "expiring": "handle order 17\nhandle order 18\n[ True  True False]\nTrue False\nTrue 0\nFalse\n",
    "maplet": "b'1912' None\n[1 0 1] [18  0]\n[27]\n",
    "segments": "[1] 0b1000100\n[1 2 0]\n6667\n3333 6668\n",
    "store": "Ada False\n[None, b'Bob'] 1\n",
}


@pytest.mark.parametrize("name", PRINT)
def test_example_of_the_document(name, tmp_path):
    if name == "store" and not hasattr(nestline, "Store"):
        pytest.skip("built without the store")
    program = DOCUMENTS / f"python_{name}.py"
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == PRINT[name], done.stderr


def test_every_example_of_the_document_is_run():
    names = {path.name for path in DOCUMENTS.glob("python_*.py")}
    assert names == {f"python_{name}.py" for name in PRINT}
