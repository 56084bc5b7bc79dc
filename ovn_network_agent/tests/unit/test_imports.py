# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What must not be imported where: the architecture, checked."""

import os
import subprocess
import sys

from oslotest import base

from ovn_network_agent.tests.unit import sources

PACKAGE = 'ovn_network_agent'

# No I/O: their results follow from their arguments alone.
PURE = ('resources', 'model', 'ownership', 'engine.tracking', 'drivers',
        'backends.base', 'ovn.snapshot', 'ovn.subjects.addresses',
        'ovn.indexes', 'ovn.rows', 'common.networks',
        'gateways.transitions',
        'gateways.membership')
# Of the conf package the pure ones take lists of option declarations.
DECLARATIONS = 'conf.'
HARMLESS = {'abc', 'bisect', 'collections', 'contextlib', 'dataclasses',
            'difflib', 'enum', 'functools', 'hashlib', 'ipaddress',
            'itertools', 'json', 'math', 'operator', 're', 'types', 'typing',
            'zlib'}
# Of these, a module takes functions that compute only: socket.inet_pton().
COMPUTING = {('common.ip_text', 'socket')}


class PureTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.paths = dict(sources.modules())

    def pure_modules(self):
        """The pure ones that are there, packages with all they contain."""
        for name in self.paths:
            if any(name == pure or name.startswith(pure + '.')
                   for pure in PURE):
                yield name

    def own(self, name):
        """The module of ours that an imported name lies in, or None."""
        name = name.removeprefix(PACKAGE).lstrip('.')
        while name and name not in self.paths:
            name = name.rpartition('.')[0]
        return name

    def test_all_are_found(self):
        found = set(self.pure_modules())
        for name in PURE:
            self.assertIn(name, found)

    def test_they_import_nothing_that_does_io(self):
        seen = set()
        waiting = list(self.pure_modules())
        while waiting:
            name = waiting.pop()
            if name in seen or name.startswith(DECLARATIONS):
                continue
            seen.add(name)
            for target in sources.imported(self.paths[name]):
                if target.split('.')[0] == PACKAGE:
                    waiting.append(self.own(target) or '')
                    self.assertTrue(waiting[-1], (name, target))
                elif (name, target) not in COMPUTING:
                    self.assertIn(target.split('.')[0], HARMLESS,
                                  f'{name} imports {target}')

    def test_nothing_comes_in_at_run_time_either(self):
        names = sorted(f'{PACKAGE}.{name}' for name in self.pure_modules())
        code = ('import sys; from oslo_config import cfg; '
                'before = set(sys.modules)\n' +
                ''.join(f'import {name}\n' for name in names) +
                'print(*set(sys.modules) - before)')
        found = subprocess.run(
            [sys.executable, '-c', code], check=True, text=True,
            capture_output=True,
            cwd=os.path.dirname(sources.TOP)).stdout.split()
        self.assertIn(names[0], found)
        for name in found:
            self.assertNotIn(name.split('.')[0], {
                'eventlet', 'oslo_privsep', 'ovs', 'ovsdbapp', 'pyroute2',
                'selectors', 'socket', 'subprocess', '_socket'})


class PackageTest(base.BaseTestCase):

    def test_eventlet_is_not_used(self):
        # OpenStack retires it; its patched threads and ours do not mix.
        for name, path in sources.modules():
            for target in sources.imported(path):
                self.assertNotIn(target.split('.')[0],
                                 {'eventlet', 'greenlet'}, name)

    def test_only_the_privileged_side_starts_programs(self):
        for name, path in sources.modules():
            if name.split('.')[0] != 'privileged':
                for target in sources.imported(path):
                    self.assertNotIn(target.split('.')[0], {'subprocess'},
                                     name)


class StartTest(base.BaseTestCase):
    """What a start does not load: each module costs time and memory.

    The list names what few agents need, and only later than at the start.
    test_start.py has the commands.
    """

    LATE = {
        # The rules of port forwards.
        'yaml', 'jsonschema', f'{PACKAGE}.files.document',
        # Health checks.
        f'{PACKAGE}.forward.health_thread', 'h11',
        # The listener for metrics.
        f'{PACKAGE}.metrics.server', 'prometheus_client',
        # The report at SIGUSR2.
        'oslo_reports.guru_meditation_report', 'jinja2', 'psutil', 'greenlet',
        # Connections of port forwards.
        f'{PACKAGE}.netlink.conntrack',
        'pyroute2.netlink.nfnetlink.nfctsocket',
        # Diagnoses, other programs, tests.
        f'{PACKAGE}.diagnosis', f'{PACKAGE}.ctl', f'{PACKAGE}.migrate',
        'cryptography', 'prettytable', 'pkg_resources', 'setuptools',
        'requests', 'unittest', 'eventlet.patcher', 'pyroute2.iproute'}

    def loaded(self, code):
        """Names of the modules that a new process has after some code."""
        return set(subprocess.run(
            [sys.executable, '-c', f'import sys\n{code}\n'
             'print(*sys.modules, file=sys.stderr)'],
            check=True, text=True, stdin=subprocess.DEVNULL,
            capture_output=True, cwd=os.path.dirname(sources.TOP)
        ).stderr.split())

    def test_an_agent(self):
        found = self.loaded(f'import {PACKAGE}.cmd.agent\n'
                            'from importlib import metadata\n'
                            "for kind in 'drivers', 'backends':\n"
                            '    for one in metadata.entry_points('
                            f"group='{PACKAGE}.' + kind):\n"
                            '        one.load()\n')
        self.assertIn(f'{PACKAGE}.backends.nftables', found)
        self.assertIn(f'{PACKAGE}.forward.schema', found)
        # oslo.privsep before 3.11 needs eventlet, which needs further modules.
        needed = self.loaded(
            f'from {PACKAGE}.runtime.process import interpreter\n'
            'interpreter.keep_eventlet_out()')
        self.assertEqual(set(), found & self.LATE - needed)
