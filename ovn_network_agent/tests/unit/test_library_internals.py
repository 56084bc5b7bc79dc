# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The private names of libraries are there, and all of them are listed."""

import ast
import importlib
import inspect
import os
import re

from oslotest import base

import ovn_network_agent
from ovn_network_agent.tests.unit import library_internals

TOP = os.path.dirname(ovn_network_agent.__file__)
LIBRARIES = {'ovs', 'ovsdbapp', 'oslo_privsep'}
# Public for all their underscores.
STANDARD = {'_asdict', '_exit', '_fields', '_replace'}


def missing(entry):
    """What to say of a name that its library does not have.

    :returns: text, '' when it is there
    """
    module, _colon, owner = entry.owner.partition(':')
    there = importlib.import_module(module)
    if owner:
        # Attributes of instances are seen in the source alone.
        source = ''.join(
            inspect.getsource(each) for each in
            inspect.getmro(getattr(there, owner))
            # Not those of Python itself, which may have no source.
            if each.__module__.split('.')[0] == module.split('.')[0])
        found = re.search(rf'\b{entry.name}\b', source)
    else:
        found = hasattr(there, entry.name)
    return '' if found else (
        f'{entry.owner} has no {entry.name} any more, which is used by '
        f'{", ".join(entry.users)}: {entry.why}')


def sources():
    """(dotted name below the package, text) of its modules, not tests."""
    for folder, folders, files in os.walk(TOP):
        folders[:] = [f for f in folders if f not in ('tests', '__pycache__')]
        for name in files:
            if name.endswith('.py'):
                path = os.path.join(folder, name)
                with open(path, encoding='utf-8') as opened:
                    yield os.path.relpath(path, TOP)[:-len('.py')].replace(
                        os.sep, '.'), opened.read()


def own_names(tree):
    """What a module defines: functions, variables, attributes of self."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(
                node.ctx, ast.Store) and is_self(node.value):
            yield node.attr


def is_self(node):
    return isinstance(node, ast.Name) and node.id in ('self', 'cls')


def uses_libraries(tree):
    return any(name.split('.')[0] in LIBRARIES for node in ast.walk(tree)
               for name in (
                   [node.module or ''] if isinstance(node, ast.ImportFrom)
                   else [alias.name for alias in node.names]
                   if isinstance(node, ast.Import) else []))


def foreign_names(text):
    """Private attributes that a module uses and does not define.

    Those of self may be of a base class of ours, unless the module has to
    do with a library.
    """
    tree = ast.parse(text)
    own = STANDARD.union(own_names(tree))
    of_self = uses_libraries(tree)
    return {node.attr for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and re.match('_[a-z]', node.attr, re.IGNORECASE)
            and node.attr not in own
            and (of_self or not is_self(node.value))}


class PrivateNamesTest(base.BaseTestCase):

    def test_each_is_there(self):
        self.assertEqual([], [text for text in map(
            missing, library_internals.NAMES) if text])

    def test_what_is_gone_is_named(self):
        for owner in 'ovs.db.idl:Idl', 'ovs.db.idl':
            gone = library_internals.PrivateName(
                owner, '_gone', ('ovsdb.replica',), 'the reason')
            self.assertEqual(
                f'{owner} has no _gone any more, which is used by '
                f'ovsdb.replica: the reason', missing(gone))

    def test_none_is_forgotten(self):
        listed = {(user, entry.name) for entry in library_internals.NAMES
                  for user in entry.users}
        self.assertEqual([], sorted(
            {(module, name) for module, text in sources()
             for name in foreign_names(text)} - listed))

    def test_none_is_listed_in_vain(self):
        texts = dict(sources())
        for entry in library_internals.NAMES:
            for user in entry.users:
                self.assertRegex(texts[user], rf'\b{entry.name}\b')

    def test_a_use_is_found(self):
        self.assertEqual({'_txn_rows', '_session'}, foreign_names(
            'import ovs.db.idl\n'
            'class Own(ovs.db.idl.Idl):\n'
            '    def run(self, txn):\n'
            '        self._own = txn._txn_rows, self._own, self._session\n'))
        self.assertEqual(set(), foreign_names(
            'class Own(Base):\n'
            '    def run(self):\n'
            '        return self._of_the_base\n'))
