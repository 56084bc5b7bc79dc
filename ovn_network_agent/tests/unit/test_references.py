# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""References in docstrings lead to something that is there."""

import ast
import functools
import re

from oslotest import base

from ovn_network_agent.tests import tools

packages = tools.load('packages')

REFERENCE = re.compile(r':(?:class|func|mod|data|meth|attr|exc):`~?([\w.]+)`')


@functools.cache
def contents():
    """dict of each module of ours to a dict of what its names stand for.

    What it imports counts, too: docstrings may name other libraries.
    """
    found, known = {}, packages.modules()
    for module, path in known.items():
        names = found[module] = {}
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names[node.name] = node
            elif isinstance(node, ast.Import | ast.ImportFrom):
                # Modules of ours are found under their own names.
                names.update((alias.asname or alias.name, None)
                             for alias in node.names
                             if f'{getattr(node, "module", "")}.{alias.name}'
                             .removeprefix(f'{packages.NAME}.') not in known)
            else:
                names.update((part.id, node) for part in ast.walk(node)
                             if isinstance(part, ast.Name) and
                             isinstance(part.ctx, ast.Store))
    return found


def is_in(names, rest):
    """Whether a module or class has what is left of a reference."""
    if not rest:
        return True
    if rest[0] not in names:
        return False
    node = names[rest[0]]
    if len(rest) == 1 or node is None:
        return True
    return isinstance(node, ast.ClassDef) and (
        bool(node.bases) or rest[1] in members(node))


def members(node):
    """Names of methods and attributes in a class."""
    return {getattr(part, 'name', getattr(part, 'attr', getattr(
        part, 'id', None))) for part in ast.walk(node)
        if isinstance(part, ast.FunctionDef | ast.Attribute | ast.Name)}


def resolves(module, reference):
    """Whether a reference in a module leads somewhere."""
    parts = reference.removeprefix(packages.NAME + '.').split('.')
    own = contents()[module]
    if is_in(own, parts) or len(parts) == 1 and any(
            isinstance(node, ast.ClassDef) and (
                node.bases or parts[0] in members(node))
            for node in own.values()):
        return True
    return any(
        is_in(names, parts[length:]) for length in range(1, len(parts) + 1)
        for other, names in contents().items()
        if ('.' + other).endswith('.' + '.'.join(parts[:length])))


class ReferencesTest(base.BaseTestCase):

    def test_they_lead_to_something(self):
        found = [(module, reference)
                 for module, path in packages.modules().items()
                 for reference in REFERENCE.findall(path.read_text())]
        self.assertGreater(len(found), 500)
        self.assertEqual([], [pair for pair in found if not resolves(*pair)])

    def test_one_that_leads_nowhere_is_found(self):
        for reference in ('delta.Tracker', 'tracking.Nobody', 'no.such',
                          'engine.tracking.Tracker.nothing'):
            self.assertFalse(resolves('engine.actual', reference), reference)
