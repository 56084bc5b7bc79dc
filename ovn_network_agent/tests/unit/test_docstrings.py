# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Each public function has a docstring: in the package, tools and the lab."""

import ast
import os
import pathlib

from oslotest import base

from ovn_network_agent.tests import tree

FOLDERS = ('ovn_network_agent', 'tools', 'lab')
# Tests say by their names and assertions what they check.
TESTS = os.path.join('ovn_network_agent', 'tests') + os.sep
# The docstring of the module says what the program does, and its parser has
# the arguments.
ALLOWED = {'main'}


def programs():
    """Relative paths of the files of Python, with or without the ending."""
    for name in tree.files():
        if name.startswith(TESTS) or name.split(os.sep)[0] not in FOLDERS:
            continue
        path = pathlib.Path(tree.ROOT, name)
        if path.suffix == '.py' or not path.suffix and (
                b'python' in path.read_bytes().partition(b'\n')[0]):
            yield name


def undocumented(text):
    """Names of public functions and methods that have no docstring.

    A nested function is a part of the function around it.  A name that begins
    with an underscore is not public: it is private, or Python calls it by the
    rules of its language.

    :param text: source code
    :returns: list of names, with that of the class
    """
    def found(body, owner):
        for node in body:
            if getattr(node, 'name', '_').startswith('_'):
                continue
            name = owner + node.name
            if isinstance(node, ast.ClassDef):
                yield from found(node.body, name + '.')
            elif name not in ALLOWED and not ast.get_docstring(node):
                yield name
    return list(found(ast.parse(text).body, ''))


class DocstringsTest(base.BaseTestCase):

    def test_public_functions_have_docstrings(self):
        self.assertEqual([], [
            f'{name}: {function}' for name in programs()
            for function in undocumented(
                pathlib.Path(tree.ROOT, name).read_text(encoding='utf-8'))])

    def test_all_folders_are_looked_at(self):
        self.assertEqual(set(FOLDERS), {
            name.split(os.sep)[0] for name in programs()})

