# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which functional tests belong to a change: tools/nearest.py."""

import pathlib
import subprocess

import fixtures
from oslotest import base

from ovn_network_agent.tests import tools

nearest = tools.load('nearest')

_HERE = 'ovn_network_agent/'
_FUNCTIONAL = _HERE + 'tests/functional/'
# A program of three layers, and tests of each.
_TREE = {
    _HERE + 'low/wire.py': '',
    _HERE + 'middle/route.py': 'def f():\n'
                               '    from ovn_network_agent.low import wire\n',
    _HERE + 'cmd/agent.py': 'import ovn_network_agent.middle.route\n',
    _FUNCTIONAL + 'kernel/base.py':
        'from ovn_network_agent.middle import route\n',
    _FUNCTIONAL + 'kernel/test_all.py':
        'from ovn_network_agent.tests.functional.kernel import base\n',
    _FUNCTIONAL + 'kernel/test_wire.py':
        'from ovn_network_agent.low import wire\n',
    _FUNCTIONAL + 'kernel/test_route.py':
        'from ovn_network_agent.tests.functional.kernel import base\n',
    _FUNCTIONAL + 'plugin/test_program.py':
        'import sys\n'
        'RUN = [sys.executable, "-m", "ovn_network_agent.cmd.agent"]\n'
        'UNIT = ("contrib", "agent.service")\n'
        'FOLDER = "installed"\n',
    _FUNCTIONAL + 'plugin/installed/plugin.py': '',
    _FUNCTIONAL + 'plugin/test_other.py': '',
}


class NearestTestCase(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def write(self, path, text=''):
        made = self.root / path
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text)


class OrderTest(NearestTestCase):

    def setUp(self):
        super().setUp()
        for path, text in _TREE.items():
            self.write(path, text)
            for folder in pathlib.PurePath(path).parents:
                if folder.name not in ('', 'installed'):
                    self.write(folder / '__init__.py')
        self.known = nearest.modules(self.root)

    def order(self, *paths):
        """Short names of the tests that are near to changed files."""
        start = nearest.names_of(paths, self.known)
        return [name.removeprefix(nearest.FUNCTIONAL)
                for name in nearest.order(start, self.known)]

    def test_a_test_belongs_to_itself(self):
        self.assertEqual(['plugin.test_other'], self.order(
            _FUNCTIONAL + 'plugin/test_other.py'))

    def test_the_fewest_imports_first(self):
        self.assertEqual(
            ['kernel.test_wire', 'kernel.test_all', 'kernel.test_route'],
            self.order(_HERE + 'low/wire.py'))

    def test_one_of_the_same_name_before_others(self):
        self.assertEqual(
            ['kernel.test_route', 'kernel.test_all', 'plugin.test_program'],
            self.order(_HERE + 'middle/route.py'))

    def test_a_helper_belongs_to_its_tests(self):
        self.assertEqual(['kernel.test_all', 'kernel.test_route'],
                         self.order(_FUNCTIONAL + 'kernel/base.py'))

    def test_a_changed_test_comes_first(self):
        self.assertEqual(
            ['plugin.test_other', 'kernel.test_wire'],
            self.order(_HERE + 'low/wire.py',
                       _FUNCTIONAL + 'plugin/test_other.py')[:2])

    def test_a_program_that_is_run_by_its_name(self):
        self.assertEqual(['plugin.test_program'],
                         self.order(_HERE + 'cmd/agent.py'))

    def test_a_file_that_is_named(self):
        self.assertEqual(['plugin.test_program'],
                         self.order('contrib/agent.service'))
        self.assertEqual([], self.order('elsewhere/agent.service'))

    def test_what_a_test_installs(self):
        for name in ('plugin.py', 'pyproject.toml'):
            self.assertEqual(['plugin.test_program'], self.order(
                _FUNCTIONAL + 'plugin/installed/' + name))

    def test_what_no_test_knows(self):
        self.assertEqual([], self.order('README.rst', _HERE + 'gone.py'))


class TimeTest(NearestTestCase):

    def test_what_fits_in_order(self):
        took = {'a': 30.0, 'b': 60.0, 'c': 20.0}
        self.assertEqual((['a', 'c'], ['b']),
                         nearest.choose(list('abc'), took, 50))

    def test_what_was_changed_runs_in_any_case(self):
        took = {'a': 90.0, 'b': 1.0}
        self.assertEqual((['a'], ['b']),
                         nearest.choose(list('ab'), took, 50, {'a'}))

    def test_how_long_tests_take(self):
        """As the last time, or as long as usual for each test."""
        self.write('x/test_a.py', 'def test_1():\n    pass\n'
                                  'def test_2():\n    pass\n')
        path = self.root / 'x/test_a.py'
        self.assertEqual(
            {'x.test_a': 2 * nearest.USUAL, 'x.test_b': 7.0},
            nearest.seconds(['x.test_a', 'x.test_b'],
                            {'x.test_a': path, 'x.test_b': path},
                            {'x.test_b.A.test_1': 3.0,
                             'x.test_b.B.test_2': 4.0, 'y.z.B.t': 1.0}))


class ChangedTest(NearestTestCase):

    def setUp(self):
        super().setUp()
        self.git('init', '-q', '-b', 'main')
        self.commit('first', 'second')

    def git(self, *words):
        subprocess.run(
            ['git', '-c', 'user.name=a', '-c', 'user.email=a@example.org',
             *words], cwd=self.root, check=True, capture_output=True)

    def commit(self, *paths):
        for path in paths:
            self.write(path, path)
            self.git('add', path)
            self.git('commit', '-q', '-m', path)

    def changed(self):
        return nearest.changed(self.root)

    def test_the_last_commit_where_nothing_differs(self):
        self.assertEqual({'second'}, self.changed())

    def test_a_branch_and_what_is_not_committed(self):
        self.git('checkout', '-q', '-b', 'work')
        self.commit('third', 'fourth')
        self.write('first', 'changed')
        self.write('new')
        self.assertEqual({'first', 'third', 'fourth', 'new'}, self.changed())

    def test_what_the_main_branch_did_meanwhile_is_not_ours(self):
        self.git('checkout', '-q', '-b', 'work')
        self.commit('third')
        self.git('checkout', '-q', 'main')
        self.commit('theirs')
        self.git('checkout', '-q', 'work')
        self.assertEqual({'third'}, self.changed())

    def test_what_is_ignored_or_renamed(self):
        self.write('.gitignore', 'build')
        self.write('build', 'x')
        self.git('mv', 'first', 'moved')
        self.assertEqual({'.gitignore', 'first', 'moved'}, self.changed())

    def test_without_git(self):
        self.assertRaises(subprocess.CalledProcessError, nearest.changed,
                          self.root / '.git' / 'nowhere')
