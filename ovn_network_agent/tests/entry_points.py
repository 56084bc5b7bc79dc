# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The entry points of the privileged side."""

import importlib
import pkgutil

from ovn_network_agent import privileged


def found():
    """All that the agent can call, dict of 'module.function' to function."""
    points = {}
    for info in pkgutil.walk_packages(
            privileged.__path__, f'{privileged.__name__}.'):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if any(context.is_entrypoint(value)
                   for context in privileged.CONTEXTS):
                points[f'{info.name.rpartition(".")[2]}.{name}'] = value
    return points
