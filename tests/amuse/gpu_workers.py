"""Lets AMUSE's own tests run on the workers that link Kyoho, whatever mode they ask for: pytest -p gpu_workers."""

from amuse.community.ph4.interface import ph4Interface
from amuse.community.phigrape.interface import PhiGRAPEInterface

ph4Interface.name_of_the_muse_worker = lambda self, mode: "ph4_worker_gpu"
PhiGRAPEInterface.name_of_the_worker = lambda self, mode, number: "phigrape_worker_gpu"
