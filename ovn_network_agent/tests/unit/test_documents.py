# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The documents name what exists."""

import ast
import functools
import ipaddress
import itertools
import pathlib
import re
import unittest

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.common import library_internals
from ovn_network_agent.common import networks
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import original_options

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
# A file and what is in it: ``file.py`` ``Name.member``, or the other way
# round, with the file in brackets.
_NAME = r'``([A-Za-z_]\w*)(?:\.(\w+))?(?:\(\))?``'
# Two spaces after it are the end of a column.
FILE_FIRST = re.compile(r'``([\w/]+\.py)``,?\s+' + _NAME + r'(?!  )')
FILE_LAST = re.compile(_NAME + r'\s+\(``([\w/]+\.py)``\)')
# A line of the list of files that the path enters.
STEP = re.compile(r'^ ?\d+ ([\w/]+\.py) ', re.M)
# A line of the table that gives the reason for each.
REASON = re.compile(r'^``([\w/]+\.py)``  ', re.M)
FUNCTION = re.compile(r'(_\w+|[a-z]\w+\(\))')
OPTION = re.compile(r'\[(\w+)\] ([a-z]\w+)( *=.*)?')
VIRTUAL_GATEWAY = re.compile(r'^([\d.]+/\d+) +([\d.]+)$', re.M)
# A row of the table of the original program's options.
ROW = re.compile(r'^   \* - ``(\w+)``\n     - (?:``(.+?)``|none)$', re.M)
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
            yield from members(getattr(base, 'attr',
                                       getattr(base, 'id', '')))


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


def pairs(text):
    """(file, name, member or None) of what a page names together."""
    yield from FILE_FIRST.findall(text)
    for name, member, path in FILE_LAST.findall(text):
        yield path, name, member


def defines(path, name, member):
    """Whether a file of the package defines a name with that member."""
    for found, tree in trees():
        if str(found.relative_to(PACKAGE)) == path:
            return name in top_level(tree) and (
                not member or member in members(name))
    return False


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

    # The tables of behaviour name tests: test_behaviour.
    pages = [page for page in sorted(CONTRIBUTOR.rglob('*.rst'))
             if page.parent.name != 'behaviour']

    def test_files(self):
        self.assertEqual([], [
            (page, m.group()) for page, m in self.matching(FILE, 30)
            if not m.group().startswith('/') and not exists(m.group())])

    def test_what_is_in_the_files(self):
        """Each file with the class and method that are named with it."""
        page = CONTRIBUTOR / 'path-of-a-floating-ip.rst'
        found = list(pairs(page.read_text()))
        self.assertGreater(len(found), 30)
        self.assertEqual([], [pair for pair in found if not defines(*pair)])

    def test_the_path_names_each_of_its_files(self):
        """Those that a functional test has seen, in service/test_path.py."""
        page = CONTRIBUTOR / 'path-of-a-floating-ip.rst'
        seen = STEP.findall(page.with_suffix('.txt').read_text())
        self.assertGreater(len(seen), 10)
        # Decision record 13: two of them are behind the wall.
        self.assertLessEqual(len(seen), 18)
        self.assertEqual([], [name for name in seen
                              if f'``{name}``' not in page.read_text()])

    def test_the_record_says_why_each_file_is_on_the_path(self):
        seen = STEP.findall(
            (CONTRIBUTOR / 'path-of-a-floating-ip.txt').read_text())
        record = (CONTRIBUTOR / 'adr' / '0013-rooms.rst').read_text()
        # The files behind the wall come on top.
        wanted = {name for name in seen if not name.startswith('privileged/')}
        self.assertEqual(wanted, set(REASON.findall(record)))
        self.assertIn(f'The {len(wanted)} files, and the reason', record)

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
        found = [(page, m) for page, m in self.matching(OF_MODULE, 2)
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
            self.assertEqual(
                networks.virtual_gateway(subnets),
                str(ipaddress.ip_address(end) + 1))


class OriginalTest(unittest.TestCase):
    """Whoever comes from the original program finds each of its options."""

    def test_the_table(self):
        page = PAGES / 'configuration' / 'original.rst'
        rows = dict(ROW.findall(page.read_text()))
        self.assertEqual(
            {option.name: option.here for option in original_options.OPTIONS} |
            {original_options.RULES: '[port_forward] rules_file',
             original_options.CONFIG: ''}, rows)


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
        self.assertGreater(len(found), 10)
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
