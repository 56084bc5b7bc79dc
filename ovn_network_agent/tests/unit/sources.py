# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The modules of the agent, and their imports."""

import ast
import os

import ovn_network_agent

TOP = os.path.dirname(ovn_network_agent.__file__)


def modules(below=''):
    """(dotted name below the package, path) of its modules, not tests."""
    for folder, folders, files in os.walk(os.path.join(TOP, below)):
        folders[:] = [f for f in folders if f not in ('tests', '__pycache__')]
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith('.py'):
                relative = os.path.relpath(path, TOP)[:-len('.py')]
                yield relative.replace(os.sep, '.').removesuffix(
                    '.__init__'), path


def imported(path):
    """Dotted names that a file imports anywhere, functions included."""
    with open(path) as source:
        tree = ast.parse(source.read(), path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise AssertionError(f'{path}: relative import')
            # What is imported from a package may be a module or not.
            yield from (f'{node.module}.{alias.name}' for alias in node.names)
