# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The documents name what exists."""

import ast
import functools
import ipaddress
import itertools
import pathlib
import re
import runpy
import unittest

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.common import networks
from ovn_network_agent.conf import opts
from ovn_network_agent.tests.unit import library_internals

PACKAGE = pathlib.Path(__file__).resolve().parents[2]
ROOT = PACKAGE.parent
PAGES = ROOT / 'doc' / 'source'
CONTRIBUTOR = PAGES / 'contributor'
ADR_OF_PYTHON_OVS = (CONTRIBUTOR / 'adr' /
                     '0005-servers-confirm-what-is-gone.rst')

LITERAL = re.compile(r'``(.+?)``', re.S)
FILE = re.compile(r'[\w./-]+(\.(py|txt|toml|ini|cfg|rst)|(?<=\w)/)')
MODULE = re.compile(r'(?:python3 -m )?((?:lab|tools|ovn_network_agent)'
                    r'(?:\.\w+)+)(?: --.*)?')
MEMBER = re.compile(r'([A-Z][a-z]\w+)\.(\w+)')
OF_MODULE = re.compile(r'([a-z_]+)\.([A-Za-z_]+)')
CLASS = re.compile(r'(?:[A-Z][a-z]+)+')
# A line of the list of files that the path enters.
STEP = re.compile(r'^ ?\d+ ([\w/]+\.py) ', re.M)
FUNCTION = re.compile(r'(_\w+|[a-z]\w+\(\))')
OPTION = re.compile(r'\[(\w+)\] ([a-z]\w+)( *=.*)?')
VIRTUAL_GATEWAY = re.compile(r'^([\d.]+/\d+) +([\d.]+)$', re.M)
BY_DEFAULT = re.compile(
    r'``\[(\w+)\]\s+(\w+)``\s+is\s+(\S+)(?:\s+seconds)?\s+by\s+default')
# What others have: systemd, and the classes of libraries.
CLASSES_OF_OTHERS = {'RowEvent'}
# privsep makes these groups itself.
GROUPS_OF_OTHERS = re.compile(r'privsep_')


@functools.cache
def literals(page):
    """What a page has in double backquotes, each in one line."""
    return sorted({' '.join(found.split())
                   for found in LITERAL.findall(page.read_text())})


@functools.cache
def trees():
    """(path, syntax tree) of each file of the package but tests."""
    return [(path, ast.parse(path.read_text()))
            for path in sorted(PACKAGE.rglob('*.py'))
            if 'tests' not in path.relative_to(PACKAGE).parts]


@functools.cache
def classes():
    """Dict of the name of a class to a list of its definitions."""
    found = {}
    for _path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def members(name):
    """Methods and attributes of a class and of its own bases."""
    for node in classes().get(name, ()):
        for part in ast.walk(node):
            if isinstance(part, ast.FunctionDef):
                yield part.name
            elif isinstance(part, (ast.Name, ast.Attribute)) and isinstance(
                    part.ctx, ast.Store):
                yield getattr(part, 'id', getattr(part, 'attr', None))
        for base in node.bases:
            yield from members(getattr(base, 'attr', getattr(base, 'id', '')))


@functools.cache
def functions():
    """Names of all functions and methods."""
    return {node.name for _path, tree in trees()
            for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def top_level(tree):
    """What a module defines."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id


def exists(name):
    """Whether a path is there, as a document may write it."""
    if any((base / name).exists() for base in (PACKAGE, ROOT)):
        return True
    # In a table whose row has named the directory.
    return '/' not in name and any(PACKAGE.rglob(name))


def module_exists(name):
    """Whether a dotted name is a module or a namespace of entry points."""
    if (ROOT / name.replace('.', '/')).exists():
        return True
    return any((base / (name.replace('.', '/') + '.py')).is_file()
               for base in (ROOT, PACKAGE / 'tests'))


class DocumentsTestCase(unittest.TestCase):

    pages = ()

    def matching(self, pattern, at_least):
        """(page, match) of each literal that is like a pattern.

        :param pattern: compiled, for the whole literal
        :param at_least: how many there have to be, so that a pattern which
            finds nothing any more is noticed
        """
        found = [(page.name, match) for page in self.pages
                 for match in map(pattern.fullmatch, literals(page)) if match]
        self.assertGreater(len(found), at_least)
        return found


class ContributorTest(DocumentsTestCase):
    """Pages for contributors and decision records: what is in the code."""

    # test_behaviour.py looks at those about the behaviour.
    pages = sorted({*CONTRIBUTOR.rglob('*.rst')} -
                   {*CONTRIBUTOR.glob('behaviour/*')})

    def test_files(self):
        self.assertEqual([], [
            (page, m.group()) for page, m in self.matching(FILE, 15)
            if not m.group().startswith('/') and not exists(m.group())])

    def test_few_files_are_on_the_path(self):
        """Those that a functional test has seen, in service/test_path.py."""
        seen = STEP.findall(
            (CONTRIBUTOR / 'path-of-a-floating-ip.txt').read_text())
        self.assertGreater(len(seen), 10)
        # Decision record 13: one of them is behind the wall.
        self.assertLessEqual(len(seen), 18)

    def test_modules(self):
        self.assertEqual([], [
            (page, m.group()) for page, m in self.matching(MODULE, 4)
            if not module_exists(m.group(1))])

    def test_members_of_classes(self):
        self.assertEqual([], [
            (page, m.group()) for page, m in self.matching(MEMBER, 10)
            if m.group(2) not in members(m.group(1))])

    def test_members_of_modules(self):
        # Only of modules of ours: vlan.c is somebody else's.
        modules = {}
        for path, tree in trees():
            modules.setdefault(path.stem, set()).update(top_level(tree))
        found = [(page, m) for page, m in self.matching(OF_MODULE, 0)
                 if m.group(1) in modules and m.group(2) != 'py']
        self.assertTrue(found)
        self.assertEqual([], [
            (page, m.group()) for page, m in found
            if m.group(2) not in modules[m.group(1)]])

    def test_classes(self):
        known = {*classes(), *CLASSES_OF_OTHERS}
        self.assertEqual([], [
            (page, m.group()) for page, m in self.matching(CLASS, 8)
            if m.group() not in known])

    def test_functions(self):
        known = functions() | {
            node.attr for _path, tree in trees()
            for node in ast.walk(tree) if isinstance(node, ast.Attribute)} | {
                entry.name for entry in library_internals.NAMES}
        self.assertEqual([], [
            (page, m.group()) for page, m in self.matching(FUNCTION, 4)
            if m.group().removesuffix('()') not in known])

    def test_the_privileged_daemons(self):
        text = (CONTRIBUTOR / 'architecture.rst').read_text()
        section = text.partition('Privileges\n==========\n')[2]
        listed = itertools.takewhile(
            lambda line: not line.startswith('=='), section.splitlines())
        self.assertEqual(
            sorted(context.name for context in privileged.CONTEXTS),
            sorted(re.findall(r'^\* ``(\w+)``:', '\n'.join(listed), re.M)))

    def test_the_private_names_of_python_ovs(self):
        self.assertEqual(
            sorted({entry.name for entry in library_internals.NAMES
                    if entry.owner.startswith('ovs.db.') and
                    entry.name.startswith('_')}),
            [name for name in literals(ADR_OF_PYTHON_OVS)
             if name.startswith('_')])


class VirtualGatewayTest(unittest.TestCase):
    """The page about networks without a gateway computes as the code does."""

    def test_the_table(self):
        text = (PAGES / 'install' / 'network.rst').read_text()
        lines = VIRTUAL_GATEWAY.findall(text)
        self.assertGreater(len(lines), 3)
        for subnet, gateway in lines:
            self.assertEqual(gateway, networks.virtual_gateway([subnet]) or
                             ownership.LINK_LOCAL_GATEWAY)

    def test_the_pool_of_the_example(self):
        text = (PAGES / 'install' / 'network.rst').read_text()
        self.assertIn('--gateway none', text)
        subnets = re.findall(r'--subnet-range (\S+) ', text)
        ends = re.findall(r'--allocation-pool start=\S+,end=(\S+)', text)
        self.assertEqual(1, len(subnets))
        self.assertEqual(2, len(ends))
        for end in ends:
            self.assertEqual(networks.virtual_gateway(subnets),
                             str(ipaddress.ip_address(end) + 1))


class GeneratedTest(unittest.TestCase):
    """Pages have what the configuration of Sphinx makes of the program."""

    def test_each_page_has_its_place(self):
        found = runpy.run_path(str(PAGES / 'conf.py'))['GENERATED']
        for (page, comment), text in found.items():
            self.assertIn(f'\n.. {comment}\n',
                          (PAGES / f'{page}.rst').read_text())
            self.assertGreater(len(text().splitlines()), 20, page)


class OptionsTest(DocumentsTestCase):
    """All pages: options are in the group that a page says."""

    pages = [ROOT / 'README.rst', *sorted(PAGES.rglob('*.rst'))]

    def setUp(self):
        super().setUp()
        self.options = {
            (group or 'DEFAULT', option.dest): option
            for group, options in opts.list_opts() for option in options}

    def test_options(self):
        self.assertEqual([], [
            (page, m.group()) for page, m in self.matching(OPTION, 40)
            if not GROUPS_OF_OTHERS.match(m.group(1)) and
            m.group(1, 2) not in self.options])

    def test_defaults(self):
        found = [(page.name, *m) for page in self.pages
                 for m in BY_DEFAULT.findall(page.read_text())]
        self.assertGreater(len(found), 5)
        self.assertEqual([], [
            (page, group, name, said) for page, group, name, said in found
            if said.strip('`') not in self.spellings(group, name)])

    def spellings(self, group, name):
        """How a page may write the default of an option."""
        default = self.options[group, name].default
        if isinstance(default, bool):
            return ('on', 'true') if default else ('off', 'false')
        if default in ('', [], None):
            return ('empty', 'off', 'nothing')
        return (str(default), *(['off'] if default == 0 else []))
