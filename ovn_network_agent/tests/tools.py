# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Programs of the folder tools, as modules."""

import importlib.util
import os

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__),
                                    *[os.pardir] * 2))


def load(name):
    """The program tools/NAME.py as a module."""
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(ROOT, 'tools', name + '.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
