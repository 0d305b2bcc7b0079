"""The dynamics code, as scripts of AMUSE see it."""

import shutil
import tempfile
import weakref

import numpy

from amuse.community.interface.gd import (
    GravitationalDynamics,
    GravitationalDynamicsInterface,
    GravityFieldCode,
    GravityFieldInterface,
)
from amuse.community.interface.stopping_conditions import StoppingConditionInterface, StoppingConditions
from amuse.rfi.core import PythonCodeInterface, legacy_function
from amuse.support.literature import LiteratureReferencesMixIn
from amuse.units import nbody_system
from amuse.units.quantities import is_quantity

from .dynamics_worker import KyohoWorker
from .field import _function


def _of_arrays(name):
    """A function of the interface of dynamics that takes all particles of a call at once."""
    described = getattr(GravitationalDynamicsInterface, name).specification_function

    def specification():
        made = described()
        made.can_handle_array, made.must_handle_array = False, True
        made.addParameter("npoints", dtype="int32", direction=made.LENGTH)
        return made

    specification.__name__ = name
    specification.__doc__ = described.__doc__
    return legacy_function(specification)


def _getter(name, dtype):
    def specification():
        return _function((name, dtype, "OUT"))

    specification.__name__ = f"get_{name}"
    return legacy_function(specification)


def _setter(name, dtype):
    def specification():
        return _function((name, dtype, "IN"))

    specification.__name__ = f"set_{name}"
    return legacy_function(specification)


class KyohoInterface(
    PythonCodeInterface,
    LiteratureReferencesMixIn,
    GravitationalDynamicsInterface,
    StoppingConditionInterface,
    GravityFieldInterface,
):
    """Particles that evolve by a Hermite scheme of order 4, 6 or 8 with block time steps, or by a
    leapfrog with forces by a tree, computed by Kyoho on GPUs and CPUs.

    .. [#] Kyoho, https://pypi.org/project/kyoho
    .. [#] Hermite schemes: Makino, J. & Aarseth, S. J., 1992, PASJ, 44, 141
    .. [#] Orders 6 and 8: Nitadori, K. & Makino, J., 2008, New Astronomy, 13, 498
    """

    def __init__(self, **options):
        # AMUSE writes a script that starts the worker.
        if "worker_dir" not in options:
            options["worker_dir"] = tempfile.mkdtemp()
            weakref.finalize(self, shutil.rmtree, options["worker_dir"], ignore_errors=True)
        # One process is enough for one machine, as the library has threads. More share the sums.
        options.setdefault("number_of_workers", 1)
        PythonCodeInterface.__init__(self, KyohoWorker, **options)
        LiteratureReferencesMixIn.__init__(self)

    new_particle = _of_arrays("new_particle")
    delete_particle = _of_arrays("delete_particle")
    get_state, set_state = _of_arrays("get_state"), _of_arrays("set_state")
    get_mass, set_mass = _of_arrays("get_mass"), _of_arrays("set_mass")
    get_radius, set_radius = _of_arrays("get_radius"), _of_arrays("set_radius")
    get_position, set_position = _of_arrays("get_position"), _of_arrays("set_position")
    get_velocity, set_velocity = _of_arrays("get_velocity"), _of_arrays("set_velocity")
    get_acceleration = _of_arrays("get_acceleration")
    get_potential = _of_arrays("get_potential")

    @legacy_function
    def add_field():
        return _function(("field", "string", "IN"), ("parameters", "string", "IN"))

    @legacy_function
    def add_law():
        return _function(("law", "string", "IN"), ("parameters", "string", "IN"))

    get_order, set_order = _getter("order", "int32"), _setter("order", "int32")
    get_eta, set_eta = _getter("eta", "float64"), _setter("eta", "float64")
    get_dt_max, set_dt_max = _getter("dt_max", "float64"), _setter("dt_max", "float64")
    get_pair_distance, set_pair_distance = _getter("pair_distance", "float64"), _setter("pair_distance", "float64")
    get_is_time_reversed_allowed = _getter("is_time_reversed_allowed", "int32")
    set_is_time_reversed_allowed = _setter("is_time_reversed_allowed", "int32")
    get_subsystems, set_subsystems = _getter("subsystems", "int32"), _setter("subsystems", "int32")
    get_accuracy, set_accuracy = _getter("accuracy", "float64"), _setter("accuracy", "float64")
    get_precision, set_precision = _getter("precision", "string"), _setter("precision", "string")
    get_backend, set_backend = _getter("backend", "string"), _setter("backend", "string")


class Kyoho(GravitationalDynamics, GravityFieldCode):
    """Particles that evolve under their own gravity."""

    def __init__(self, unit_converter=None, **options):
        self.stopping_conditions = StoppingConditions(self)
        mode = options.pop("mode", None)
        GravitationalDynamics.__init__(self, KyohoInterface(**options), unit_converter, **options)
        if mode == "gpu":
            self.parameters.backend = "cuda"

    def add_field(self, field, **parameters):
        """Adds a field, which acts on all particles beside their own gravity: a built-in one by its name,
        or a text. Parameters are quantities, or numbers in N-body units."""
        self.overridden().add_field(field, self._words(parameters))

    def add_law(self, law, **parameters):
        """Adds a law between particles beside their gravity: a text, with parameters as of a field."""
        self.overridden().add_law(law, self._words(parameters))

    def _words(self, parameters):
        """Parameters as the worker takes them."""
        return " ".join(f"{name}={','.join(map(repr, self._in_nbody_units(x)))}" for name, x in parameters.items())

    def _in_nbody_units(self, value):
        """The numbers of a parameter."""
        if is_quantity(value):
            if self.unit_converter is not None:
                value = self.unit_converter.to_nbody(value)
            if not all(nbody_system.is_nbody_unit(base) for _, base in value.unit.base):
                raise ValueError(f"{value} has no N-body unit; allowed: N-body units, or a unit converter")
            value = value.number * value.unit.factor
        return numpy.asarray(value, dtype=float).ravel().tolist()

    def define_methods(self, handler):
        GravitationalDynamics.define_methods(self, handler)
        for name in ("add_field", "add_law"):
            handler.add_method(name, (handler.NO_UNIT, handler.NO_UNIT), (handler.ERROR_CODE,))
        self.stopping_conditions.define_methods(handler)
        units = {
            "eps2": nbody_system.length**2,
            "order": handler.NO_UNIT,
            "eta": handler.NO_UNIT,
            "dt_max": nbody_system.time,
            "pair_distance": nbody_system.length,
            "is_time_reversed_allowed": handler.NO_UNIT,
            "subsystems": handler.NO_UNIT,
            "accuracy": handler.NO_UNIT,
            "precision": handler.NO_UNIT,
            "backend": handler.NO_UNIT,
        }
        for name, unit in units.items():
            handler.add_method(f"get_{name}", (), (unit, handler.ERROR_CODE))
            handler.add_method(f"set_{name}", (unit,), (handler.ERROR_CODE,))

    def define_parameters(self, handler):
        GravitationalDynamics.define_parameters(self, handler)
        self.stopping_conditions.define_parameters(handler)
        parameters = (
            ("eps2", "epsilon_squared", "square of the softening length", 0.0 | nbody_system.length**2),
            ("order", "order", "4, 6 or 8: Hermite with block time steps; 2: leapfrog with the step dt_max", 4),
            (
                "eta",
                "timestep_parameter",
                "accuracy parameter of time steps; 0: 0.02 in order 4, 0.2 in order 6, 0.3 in order 8",
                0.0,
            ),
            ("dt_max", "dt_max", "longest step; 0: no limit. Order 2 needs it", 0.0 | nbody_system.time),
            (
                "pair_distance",
                "pair_distance",
                "distance below which two particles are a pair for pair_detection",
                0.0 | nbody_system.length,
            ),
            (
                "is_time_reversed_allowed",
                "is_time_reversed_allowed",
                "1: evolve_model also goes back in time; 0: that is an error",
                0,
            ),
            (
                "subsystems",
                "subsystems",
                "1: hard binaries and close encounters move by regularised motion, in orders 4, 6 and 8 without "
                "softening; 0: by plain steps",
                0,
            ),
            (
                "accuracy",
                "accuracy",
                "error of accelerations by a tree in order 2, relative to them or to half of the sum of "
                "the sizes of all pulls, whichever is more, 1e-6 to 1e-2; 0 for direct sums",
                0.0,
            ),
            ("precision", "precision", "single, mixed or double; empty for double", ""),
            ("backend", "backend", "cuda, opencl or cpu; empty for the first that has a device", ""),
        )
        for function, name, description, default in parameters:
            handler.add_method_parameter(f"get_{function}", f"set_{function}", name, description, default_value=default)

    def define_particle_sets(self, handler):
        GravitationalDynamics.define_particle_sets(self, handler)
        handler.add_getter("particles", "get_acceleration", names=("ax", "ay", "az"))
        handler.add_getter("particles", "get_potential", names=("potential_in_code",))
        self.stopping_conditions.define_particle_set(handler)

    def define_state(self, handler):
        GravitationalDynamics.define_state(self, handler)
        GravityFieldCode.define_state(self, handler)
        for state in ("EDIT", "RUN", "UPDATE"):
            handler.add_method(state, "add_field")
            handler.add_method(state, "add_law")
        for name in ("get_acceleration", "get_radius"):
            handler.add_method("RUN", name)
        for name in ("set_state", "set_mass", "set_position", "set_velocity", "set_radius"):
            handler.add_method("EDIT", name)
        handler.add_transition("RUN", "UPDATE", "set_state", False)
        handler.add_method("UPDATE", "set_state")
        self.stopping_conditions.define_state(handler)
