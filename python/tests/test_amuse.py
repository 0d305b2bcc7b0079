"""The workers of the codes for AMUSE, as far as they do not need AMUSE."""

import importlib
import importlib.metadata
import pathlib
import sys
import types

import pytest

import kyoho

FOLDER = pathlib.Path(__file__).parents[2] / "packaging/amuse/amuse-kyoho/src/amuse_kyoho"


@pytest.fixture
def amuse_kyoho(monkeypatch):
    """The package, without the modules that AMUSE's scripts see."""
    package = types.ModuleType("amuse_kyoho")
    package.__path__ = [str(FOLDER)]
    monkeypatch.setitem(sys.modules, "amuse_kyoho", package)
    for name in ("field_worker", "dynamics_worker", "_version"):
        monkeypatch.delitem(sys.modules, f"amuse_kyoho.{name}", raising=False)
    return package


@pytest.mark.parametrize(
    ("code", "function", "argument", "value", "said"),
    [
        ("dynamics_worker.KyohoWorker", "order", "order", 5, "order is 5; allowed: 2, 4, 6, 8"),
        ("dynamics_worker.KyohoWorker", "eta", "eta", -1.0, "timestep_parameter is -1.0; allowed: finite numbers"),
        ("dynamics_worker.KyohoWorker", "dt_max", "dt_max", float("nan"), "dt_max is nan"),
        ("dynamics_worker.KyohoWorker", "pair_distance", "pair_distance", -1.0, "pair_distance is -1.0"),
        ("field_worker.KyohoFieldWorker", "accuracy", "accuracy", 0.5, "accuracy is 0.5; allowed: 0, for direct"),
        ("field_worker.KyohoFieldWorker", "precision", "precision", "half", "precision is 'half'; allowed: ''"),
        ("field_worker.KyohoFieldWorker", "backend", "backend", "gpu", "backend is 'gpu'; allowed: '', 'cuda'"),
        ("field_worker.KyohoFieldWorker", "eps2", "epsilon_squared", -1.0, "epsilon_squared is -1.0"),
    ],
)
def test_parameters_are_refused_where_they_are_set(amuse_kyoho, code, function, argument, value, said):
    module, name = code.split(".")
    worker = getattr(importlib.import_module(f"amuse_kyoho.{module}"), name)()
    got = types.SimpleNamespace()
    getattr(worker, f"get_{function}")(**{argument: got})
    before = got.value
    with pytest.raises(kyoho.Error, match=said):
        getattr(worker, f"set_{function}")(**{argument: value})
    getattr(worker, f"get_{function}")(**{argument: got})
    assert got.value == before


def test_the_version_is_where_amuse_looks_for_it(amuse_kyoho, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"that of {name}")
    found = importlib.import_module(".._version", "amuse_kyoho.dynamics").version
    assert found == "that of amuse-kyoho"
