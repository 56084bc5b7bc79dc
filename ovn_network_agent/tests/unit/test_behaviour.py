# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The table of the behaviour is complete, and names tests that exist."""

import collections
import importlib
import inspect
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / 'doc' / 'source' / 'contributor' / 'behaviour.rst'
PARTS = PAGE.with_suffix('')
GLOSSARY = PAGE.parents[1] / 'reference' / 'glossary.rst'
PACKAGE = ROOT / 'ovn_network_agent'

# A row: its numbers, its text and the names of its tests.
FIELD = re.compile(r'^:([A-Z][^:\n]*): (.+(?:\n  .+)*)$', re.M)
TEST = re.compile(r'``((?:unit|functional|lab)(?:\.\w+)+\.test_\w+)``')

# Prefix, first and last number.
ROWS = (('CFG', 1, 48), ('CFG', 60, 71), ('PRE', 1, 16), ('EVT', 1, 9),
        ('ST', 1, 15), ('FIP', 1, 27), ('NB', 1, 18), ('OVS', 1, 12),
        ('VETH', 1, 19), ('CLN', 1, 7), ('DRY', 1, 3), ('LOOP', 1, 6),
        ('MNT', 1, 16), ('STL', 1, 10), ('DRN', 1, 28),
        ('PFM', 1, 4), ('HC', 1, 7), ('RUL', 1, 11), ('UNF', 1, 8),
        ('PFT', 1, 17), ('PF', 1, 30), ('NFT', 1, 8),
        ('CMD', 1, 21), ('GRD', 1, 6), ('CRS', 1, 2), ('HOS', 1, 3),
        ('OUT', 1, 17),
        ('A', 1, 22), ('BAL', 1, 13), ('VIP', 1, 2),
        ('MET', 1, 8), ('WAT', 1, 12), ('BFD', 1, 12),
        ('SEL', 1, 14), ('DFR', 1, 15), ('SID', 1, 7), ('PP', 1, 34),
         ('NET', 1, 17), ('EVPN', 1, 28), ('PEER', 1, 26), ('EIP', 1, 30),
         ('EGP', 1, 8))
TRAPS = 73
BESIDE = {'T28b', 'T44b'}

PREFIXES = '|'.join({prefix for prefix, _first, _last in ROWS})
# What a comment may call a row, and the numbers of plans that are not here.
NUMBER = re.compile(rf'\b(?:(?:{PREFIXES})-\d{{2}}|[DT]\d{{1,2}}b?)\b')
TERM = re.compile(r'^   (?=\S)(?!:)(.+)$', re.M)

Row = collections.namedtuple('Row', 'names behaviour tests where')


def everything():
    """All rows that the table can have."""
    names = {f'{prefix}-{number:02d}' for prefix, first, last in ROWS
             for number in range(first, last + 1)}
    return names | BESIDE | {f'T{number}' for number in range(1, TRAPS + 1)}


def rows(path):
    """The rows of a page."""
    for names, text in FIELD.findall(path.read_text()):
        yield Row(names.split(', '), TEST.sub('', text), TEST.findall(text),
                  path.name)


def names(rows):
    """The numbers of rows, each as often as it is there."""
    return [name for row in rows for name in row.names]


def resolve(name):
    """The class and the name of the method of a test.

    :param name: below ``ovn_network_agent.tests``
    :raises LookupError: when the runner would not find it
    """
    path, cls, method = name.rsplit('.', 2)
    try:
        module = importlib.import_module('ovn_network_agent.tests.' + path)
        found = getattr(module, cls)
    except (ImportError, AttributeError) as e:
        raise LookupError(f'{name}: {e}') from e
    if not issubclass(found, unittest.TestCase):
        raise LookupError(f'{name}: {cls} is no test case by itself')
    if not callable(getattr(found, method, None)):
        raise LookupError(f'{name}: has no such test')
    return found, method


def about(cls, method):
    """What the source says of a test: its own text, or its class's."""
    yield inspect.getcomments(getattr(cls, method)) or ''
    yield inspect.getsource(getattr(cls, method))
    for owner in cls.__mro__:
        if owner.__module__.startswith('ovn_network_agent.'):
            yield owner.__doc__ or ''
            yield inspect.getcomments(owner) or ''


class BehaviourTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        # The lab is beside the package, and is not installed.
        if str(ROOT) not in sys.path:
            sys.path.insert(0, str(ROOT))
            self.addCleanup(sys.path.remove, str(ROOT))
        self.table = [
            row for part in sorted(PARTS.glob('*.rst')) for row in rows(part)]
        self.beside = names(rows(PAGE))

    def test_each_row_is_there_once(self):
        self.assertEqual(sorted(everything()),
                         sorted(names(self.table) + self.beside))

    def test_every_line_of_a_part_is_of_a_row(self):
        for part in PARTS.glob('*.rst'):
            title, rest = part.read_text().split('\n\n', 1)
            self.assertEqual(3, len(title.splitlines()), part.name)
            self.assertEqual('', FIELD.sub('', rest).strip(), part.name)

    def test_each_row_says_something_and_names_a_test(self):
        for row in self.table:
            self.assertGreater(len(row.behaviour.split()), 3, row)
            self.assertTrue(row.tests, row)

    def test_the_tests_exist(self):
        missing = []
        for row in self.table:
            for name in row.tests:
                try:
                    resolve(name)
                except LookupError as e:
                    missing.append(f'{row.where}, {row.names}: {e}')
        self.assertEqual([], missing)

    def test_a_test_of_a_trap_names_it(self):
        for row in self.table:
            for trap in row.names:
                if trap.startswith('T'):
                    self.assertTrue(any(
                        re.search(rf'\b{trap}\b', text) for test in row.tests
                        for text in about(*resolve(test))), trap)

    def test_the_tests_on_packages_of_releases_exist(self):
        """The runner does not say that a name selects nothing."""
        loader = unittest.TestLoader()
        loader.loadTestsFromNames(
            f'ovn_network_agent.tests.{name}' for name in re.findall(
                r"^STARTS\+?='\|?(.+)'$",
                (ROOT / 'tools' / 'constraints.sh').read_text(), re.MULTILINE))
        self.assertEqual([], loader.errors)

    def test_what_does_not_exist_is_noticed(self):
        here = 'unit.test_behaviour.BehaviourTest.'
        resolve(here + 'test_the_tests_exist')
        for name in (here + 'test_of_nothing',
                     'unit.test_behaviour.NoTest.test_the_tests_exist',
                     'unit.test_nothing.NoTest.test_x',
                     'lab.test_change.Change.'
                     'test_removed_is_withdrawn_everywhere'):
            with self.assertRaises(LookupError, msg=name):
                resolve(name)

    def test_numbers_in_the_source_are_rows(self):
        known = everything()
        found = [(path.name, number)
                 for path in sorted(PACKAGE.rglob('*.py'))
                 if 'tests' not in path.relative_to(PACKAGE).parts
                 for number in NUMBER.findall(path.read_text())]
        self.assertNotEqual([], found)
        self.assertEqual([], [(path, number) for path, number in found
                              if number not in known])


class GlossaryTest(unittest.TestCase):
    """A reader of the repository alone finds what a number or a word means."""

    def test_each_prefix_is_explained(self):
        table = GLOSSARY.read_text().partition('Row numbers\n')[2]
        explained = set(re.findall(r'``([A-Z]+)``', table))
        self.assertEqual(
            {'T', *(prefix for prefix, _first, _last in ROWS)}, explained)

    def test_the_terms_are_in_order(self):
        terms = TERM.findall(
            GLOSSARY.read_text().partition('Row numbers\n')[0])
        self.assertGreater(len(terms), 40)
        self.assertEqual(sorted(terms, key=str.lower), terms)
