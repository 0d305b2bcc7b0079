"""The version, where AMUSE looks for it."""

import importlib.metadata

version = importlib.metadata.version("amuse-kyoho")
