"""The field code, as scripts of AMUSE see it."""

import shutil
import tempfile
import weakref

from amuse.community.interface.common import CommonCode, CommonCodeInterface
from amuse.community.interface.gd import GravityFieldCode, GravityFieldInterface
from amuse.rfi.core import LegacyFunctionSpecification, PythonCodeInterface, legacy_function
from amuse.units import nbody_system

from .field_worker import KyohoFieldWorker


def _function(*parameters, is_array=False):
    """The specification of a function of the worker."""
    specification = LegacyFunctionSpecification()
    for name, dtype, direction in parameters:
        specification.addParameter(name, dtype=dtype, direction=getattr(specification, direction))
    if is_array:
        specification.addParameter("npoints", dtype="int32", direction=specification.LENGTH)
        specification.must_handle_array = True
    specification.result_type = "int32"
    return specification


class KyohoFieldInterface(PythonCodeInterface, CommonCodeInterface, GravityFieldInterface):
    """The gravity of particles at any point, computed by Kyoho [#]_: direct sums, or sums by a tree
    with an error that is asked for, on GPUs and CPUs.

    .. [#] Kyoho, https://pypi.org/project/kyoho
    """

    def __init__(self, **options):
        # AMUSE writes a script that starts the worker.
        if "worker_dir" not in options:
            options["worker_dir"] = tempfile.mkdtemp()
            weakref.finalize(self, shutil.rmtree, options["worker_dir"], ignore_errors=True)
        # One process is enough, as the library has threads.
        options["number_of_workers"] = 1
        PythonCodeInterface.__init__(self, KyohoFieldWorker, **options)

    @legacy_function
    def new_particle():
        return _function(
            ("index_of_the_particle", "int32", "OUT"),
            ("mass", "float64", "IN"),
            ("x", "float64", "IN"),
            ("y", "float64", "IN"),
            ("z", "float64", "IN"),
            is_array=True,
        )

    @legacy_function
    def delete_particle():
        return _function(("index_of_the_particle", "int32", "IN"), is_array=True)

    @legacy_function
    def get_mass():
        return _function(("index_of_the_particle", "int32", "IN"), ("mass", "float64", "OUT"), is_array=True)

    @legacy_function
    def set_mass():
        return _function(("index_of_the_particle", "int32", "IN"), ("mass", "float64", "IN"), is_array=True)

    @legacy_function
    def commit_particles():
        return _function()

    @legacy_function
    def recommit_particles():
        return _function()

    @legacy_function
    def get_potential_energy():
        specification = LegacyFunctionSpecification()
        specification.addParameter(
            "potential_energy", dtype="float64", direction=specification.OUT, unit=nbody_system.energy
        )
        specification.result_type = "int32"
        return specification

    @legacy_function
    def get_eps2():
        return _function(("epsilon_squared", "float64", "OUT"))

    @legacy_function
    def set_eps2():
        return _function(("epsilon_squared", "float64", "IN"))

    @legacy_function
    def get_accuracy():
        return _function(("accuracy", "float64", "OUT"))

    @legacy_function
    def set_accuracy():
        return _function(("accuracy", "float64", "IN"))

    @legacy_function
    def get_precision():
        return _function(("precision", "string", "OUT"))

    @legacy_function
    def set_precision():
        return _function(("precision", "string", "IN"))

    @legacy_function
    def get_backend():
        return _function(("backend", "string", "OUT"))

    @legacy_function
    def set_backend():
        return _function(("backend", "string", "IN"))


class KyohoField(CommonCode, GravityFieldCode):
    """The gravity of particles at any point, in the place of FastKick."""

    def __init__(self, unit_converter=None, **options):
        self.unit_converter = unit_converter
        # FastKick chooses its worker by it; here the parameter `backend` says where to compute.
        mode = options.pop("mode", None)
        CommonCode.__init__(self, KyohoFieldInterface(**options), **options)
        if mode == "gpu":
            self.parameters.backend = "cuda"

    def define_methods(self, handler):
        CommonCode.define_methods(self, handler)
        length2 = nbody_system.length**2
        ok = handler.ERROR_CODE
        handler.add_method("new_particle", [nbody_system.mass] + [nbody_system.length] * 3, (handler.INDEX, ok))
        handler.add_method("get_eps2", (), (length2, ok))
        handler.add_method("set_eps2", (length2,), (ok,))
        handler.add_method("get_mass", (handler.NO_UNIT,), (nbody_system.mass, ok))
        handler.add_method("set_mass", (handler.NO_UNIT, nbody_system.mass), (ok,))
        for name in ("accuracy", "precision", "backend"):
            handler.add_method(f"get_{name}", (), (handler.NO_UNIT, ok))
            handler.add_method(f"set_{name}", (handler.NO_UNIT,), (ok,))

    def define_parameters(self, handler):
        handler.add_method_parameter(
            "get_eps2",
            "set_eps2",
            "epsilon_squared",
            "square of the softening length, added to that of each point",
            default_value=0.0 | nbody_system.length**2,
        )
        handler.add_method_parameter(
            "get_accuracy",
            "set_accuracy",
            "accuracy",
            "error of accelerations by a tree, relative to them or to half of the sum of the sizes of "
            "all pulls, whichever is more, 1e-6 to 1e-2; 0 for direct sums",
            default_value=0.0,
        )
        handler.add_method_parameter(
            "get_precision",
            "set_precision",
            "precision",
            "single, mixed or double; empty for double in direct sums and mixed by a tree",
            default_value="",
        )
        handler.add_method_parameter(
            "get_backend",
            "set_backend",
            "backend",
            "cuda, opencl or cpu; empty for the first that has a device",
            default_value="",
        )

    def define_particle_sets(self, handler):
        handler.define_set("particles", "index_of_the_particle")
        handler.set_new("particles", "new_particle")
        handler.set_delete("particles", "delete_particle")
        handler.add_setter("particles", "set_mass")
        handler.add_getter("particles", "get_mass", names=("mass",))

    def define_properties(self, handler):
        handler.add_property("get_potential_energy")

    def define_converter(self, handler):
        if self.unit_converter is not None:
            handler.set_converter(self.unit_converter.as_converter_from_si_to_generic())

    def define_state(self, handler):
        CommonCode.define_state(self, handler)
        handler.add_transition("END", "INITIALIZED", "initialize_code", False)
        handler.add_transition("INITIALIZED", "EDIT", "commit_parameters")
        for state in ("RUN", "EDIT", "UPDATE"):
            changing = f"CHANGE_PARAMETERS_{state}"
            handler.add_transition(state, changing, "before_set_parameter", False)
            handler.add_transition(changing, state, "recommit_parameters")
            handler.add_method(changing, "before_set_parameter")
            handler.add_method(changing, "before_get_parameter")
            handler.add_method(state, "before_get_parameter")
        for state in ("EDIT", "UPDATE"):
            handler.add_method(state, "new_particle")
            handler.add_method(state, "delete_particle")
        handler.add_transition("EDIT", "RUN", "commit_particles")
        handler.add_transition("RUN", "UPDATE", "new_particle", False)
        handler.add_transition("RUN", "UPDATE", "delete_particle", False)
        handler.add_transition("UPDATE", "RUN", "recommit_particles")
        GravityFieldCode.define_state(self, handler)
        handler.add_method("RUN", "get_potential_energy")

    def commit_parameters(self):
        self.parameters.send_not_set_parameters_to_code()
        self.parameters.send_cached_parameters_to_code()
        self.overridden().commit_parameters()

    def cleanup_code(self):
        self.overridden().cleanup_code()
        self.get_handler("PARTICLES")._cleanup_instances()

    def reset(self):
        parameters = self.parameters.copy()
        self.cleanup_code()
        self.initialize_code()
        self.parameters.reset_from_memento(parameters)
