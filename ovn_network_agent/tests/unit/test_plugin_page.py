# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The page for authors of plugins: its names exist, and are enough."""

import ast
import dataclasses
import importlib
import pathlib
import re
import unittest

from ovn_network_agent import resources

PACKAGE = pathlib.Path(__file__).resolve().parents[2]
PAGE = (PACKAGE.parent / 'doc' / 'source' / 'contributor' / 'plugins.rst')
PLUGINS = PACKAGE / 'tests' / 'functional' / 'plugin'
EXAMPLES = ('note', 'note_files', 'services')

ROW = re.compile(r'^   \* - ``(ovn_network_agent[\w.]+)``\n'
                 r'((?:     .+\n)+)', re.M)
NAME = re.compile(r'``(\w+)``(?: \(([^)]*)\))?')
INCLUDED = re.compile(r'literalinclude:: (\S+)')


def stable():
    """Dict of module to dict of name to list of members, as on the page."""
    text = PAGE.read_text().partition('\nStable names\n====')[2]
    return {module: {name: members.replace(',', ' ').split()
                     for name, members in NAME.findall(names)}
            for module, names in ROW.findall(text)}


def members(thing):
    """What a class has: attributes, methods, and fields of a dataclass."""
    fields = dataclasses.fields(thing) if dataclasses.is_dataclass(
        thing) else ()
    return {*dir(thing), *(field.name for field in fields)}


class StableTest(unittest.TestCase):

    def test_all_of_them_exist(self):
        found = stable()
        self.assertGreater(len(found), 6)
        for module, names in found.items():
            there = importlib.import_module(module)
            for name, listed in names.items():
                self.assertEqual(
                    set(), set(listed) - members(getattr(there, name)),
                    f'{module}.{name}')

    def test_the_fields_of_resources_are_complete(self):
        for name, listed in stable()[resources.__name__].items():
            kind = getattr(resources, name)
            if dataclasses.is_dataclass(kind):
                self.assertEqual(
                    set(), {field.name for field in dataclasses.fields(kind)
                            } - {*listed, 'requires'}, name)

    def test_keys_have_fields_only(self):
        kinds = [kind for kind in vars(resources).values()
                 if isinstance(kind, type) and
                 issubclass(kind, resources.Resource)]
        for kind in kinds:
            self.assertLessEqual(
                set(kind.key_fields or ()),
                {field.name for field in dataclasses.fields(kind)}, kind)
        # Each has them, or a key of its own.
        self.assertEqual({resources.Resource, resources.Rule,
                          resources.VniRule, resources.EgressDrop}, {
            kind for kind in kinds if kind.key_fields is None})

    def test_every_kind_of_the_agent_is_on_the_page(self):
        text = PAGE.read_text()
        kinds = [kind.__name__ for kind in vars(resources).values()
                 if isinstance(kind, type) and
                 issubclass(kind, resources.Resource)]
        self.assertGreater(len(kinds), 20)
        self.assertEqual([], [name for name in kinds
                              if f'``{name}``' not in text and
                              f'``{name}(' not in text])


class ExamplesTest(unittest.TestCase):

    def trees(self):
        """(path, syntax tree) of the modules of the examples."""
        found = [path for folder in EXAMPLES
                 for path in sorted((PLUGINS / folder).glob('*.py'))]
        self.assertEqual(5, len(found))
        return [(path, ast.parse(path.read_text())) for path in found]

    def test_they_use_stable_names_only(self):
        known = stable()
        for path, tree in self.trees():
            modules = {}
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        modules[alias.name] = f'{node.module}.{alias.name}'
                elif isinstance(node, ast.Import):
                    self.assertNotIn('ovn_network_agent', [
                        alias.name.partition('.')[0] for alias in node.names])
            ours = {local: name for local, name in modules.items()
                    if name.startswith('ovn_network_agent')}
            self.assertTrue(ours, path)
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(
                        node.value, ast.Name) and node.value.id in ours:
                    self.assertIn(node.attr, known[ours[node.value.id]], path)

    def test_the_page_has_no_code_of_its_own(self):
        text = PAGE.read_text()
        included = INCLUDED.findall(text)
        self.assertEqual(
            {f'{folder}/{path.name}' for folder in EXAMPLES
             for path in (PLUGINS / folder).iterdir() if path.is_file()},
            {'/'.join(name.split('/')[-2:]) for name in included})
        self.assertNotIn('code-block:: python', text)
