"""Runs the examples in the docstrings, each in an empty folder."""

import doctest
import inspect

import nestline
import pytest


def examples():
    """The docstrings with examples: of the package, its functions, its classes and their members."""
    owners = [("nestline", nestline)]
    for name, value in vars(nestline).items():
        if inspect.isclass(value) or callable(value):
            owners.append((f"nestline.{name}", value))
        if inspect.isclass(value):
            owners += [(f"nestline.{name}.{member}", function) for member, function in vars(value).items()]
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
                if not member.startswith("_") and (callable(function) or isinstance(function, property)):
                    assert function.__doc__ and function.__doc__.strip(), (name, member)
