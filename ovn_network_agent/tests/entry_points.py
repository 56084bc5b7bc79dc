# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The entry points of the privileged side."""

import importlib
import pkgutil

from ovn_network_agent import privileged


def found():
    """All that the agent can call, dict of 'module.function' to function."""
    points = {}
    for info in pkgutil.iter_modules(privileged.__path__):
        module = importlib.import_module(
            f'{privileged.__name__}.{info.name}')
        for name, value in vars(module).items():
            if any(context.is_entrypoint(value)
                   for context in privileged.CONTEXTS):
                points[f'{info.name}.{name}'] = value
    return points
