# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Static routes while FRR hangs, lacks a daemon or does not run."""

import os
import time

from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import frr_refresh
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.tests.functional.backends import static_routes
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.frr import daemons

route = static_routes.route


class TestTrouble(static_routes.StaticTestCase):
    """FRR, or parts of it, does not run."""

    def test_nothing_is_withdrawn_without_zebra(self):
        """bgpd goes on announcing what zebra cannot take back."""
        # Only this test has the prefix: the neighbour may still know the
        # routes of the test before, and zebra has to live until bgpd has
        # ours.
        ours = route(9)
        self.backend.apply(backends.Delta(create=(ours,)))
        base.wait_until(lambda: self.frr.learned() == {ours.prefix},
                        'announced')
        self.frr.kill('zebra')
        try:
            with self.assertRaisesRegex(backends.BackendError,
                                        'zebra of FRR not running'):
                self.backend.apply(backends.Delta(delete=(ours,)))
            self.assertEqual({ours.prefix}, self.frr.learned())
        finally:
            self.frr.start('zebra')

    def test_staticd_is_gone(self):
        self.frr.kill('staticd')
        try:
            for operation in (self.read, lambda: self.create(route(1)),
                              lambda: self.delete(route(1))):
                with self.assertRaisesRegex(backends.BackendError,
                                            'staticd of FRR not running'):
                    operation()
        finally:
            self.frr.start('staticd')
        self.assertEqual(set(), self.read())
        self.assertEqual({}, self.create(route(1)))
        self.assertEqual({route(1)}, self.read())

    def test_refresh_without_bgpd_is_repeated_later(self):
        self.conf.set_override('bgp_soft_refresh', 'on-removal', 'frr')
        self.create(route(1))
        self.frr.kill('bgpd')
        try:
            with self.assertLogs(frr_refresh.__name__, 'WARNING') as logs:
                self.assertEqual({}, self.delete(route(1)))
                self.wait_refreshed()
            self.assertIn('soft refresh', logs.output[0])
            self.assertTrue(self.backend.refreshes.failed)
        finally:
            self.frr.start('bgpd', config=base.BGP)
        with self.assertNoLogs(frr_refresh.__name__, 'WARNING'):
            self.create(route(1))
            self.wait_refreshed()
        self.assertFalse(self.backend.refreshes.failed)

    def test_hanging_zebra(self):
        with self.wedged('zebra'):
            for operation in (self.read, lambda: self.create(route(1))):
                started = time.monotonic()
                with self.assertRaisesRegex(backends.BackendError,
                                            'did not (end|answer) within 1 s'):
                    operation()
                self.assertLess(time.monotonic() - started, 10)
        self.assertEqual({}, self.create(route(1)))
        self.assertEqual({route(1)}, self.read())

    def test_wrapper_that_makes_a_pipe(self):
        # As what enters a container does; since FRR 9 vtysh has a child for
        # each daemon, and these share what is in the pipe.
        wrapper = os.path.join(self.frr.rundir, 'wrapper')
        with open(wrapper, 'w') as opened:
            opened.write('#!/bin/sh\ncat | "$@"\n')
        os.chmod(wrapper, 0o755)
        self.root_side(vtysh_wrapper=wrapper)
        for number in range(1, 6):
            self.assertEqual({}, self.create(route(number)))
        self.assertEqual({route(n) for n in range(1, 6)}, self.read())

    def test_hanging_wrapper_leaves_no_process(self):
        self.root_side(
            vtysh_wrapper=f'env WRAPPED=1 PATH={self.frr.bindir}:/usr/bin'
                          ':/bin')
        with self.wedged('staticd'):
            with self.assertRaisesRegex(backends.BackendError,
                                        'did not end|vtysh'):
                self.read()
        self.assertEqual([], _processes('WRAPPED=1'))
        self.assertEqual({}, self.create(route(1)))
        self.assertEqual({route(1)}, self.read())


class TestHolder(base.FrrTestCase):
    """Who has the configuration of the static routes does not run."""

    def test_nothing_is_believed(self):
        """Without mgmtd none is shown, and zebra still has them."""
        # What else that one had is gone with it, so another FRR.
        frr = base.Frr()
        self.addCleanup(frr.stop)
        self.path(frr.bindir)
        self.root_side(frr_run_dir=frr.rundir)
        backend = frr_static.StaticBackend(self.conf)
        self.assertEqual({}, backend.apply(backends.Delta(
            create=(route(1),))))
        holder = base.holder()
        frr.kill(holder)
        for operation in (
                lambda: backend.read(frozenset()),
                lambda: backend.apply(backends.Delta(delete=(route(1),)))):
            with self.assertRaisesRegex(backends.BackendError,
                                        f'{holder}.* of FRR not running'):
                operation()


class TestNothingRuns(base.FrrTestCase):

    def test_message(self):
        empty = daemons.Daemons()
        self.addCleanup(empty.stop)
        self.path(empty.bindir)
        self.root_side(frr_run_dir=empty.rundir)
        backend = frr_static.StaticBackend(self.conf)
        with self.assertRaisesRegex(backends.BackendError,
                                    'FRR is not running'):
            backend.read(frozenset())
        with self.assertRaisesRegex(backends.BackendError,
                                    'FRR is not running'):
            backend.apply(backends.Delta(create=(route(1),)))

    def test_check(self):
        backend = frr_static.StaticBackend(self.conf)
        self.assertEqual([], backend.check())
        self.conf.set_override('vtysh_wrapper', '/nonexistent/x -i', 'frr')
        problem, = backend.check()
        self.assertIn('/nonexistent/x is not found', problem)
        self.conf.set_override('announce_method', 'kernel', 'fip_route')
        self.assertEqual([], backend.check())
        self.assertEqual([], backend.read(frozenset()))

    def test_no_vtysh(self):
        self.root_side(vtysh_wrapper='/nonexistent/wrapper')
        with self.assertRaisesRegex(backends.BackendError, '/nonexistent'):
            frr_static.StaticBackend(self.conf).read(frozenset())


def _processes(mark):
    """Process ids whose environment has a mark, zombies excluded."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as opened:
                if mark.encode() in opened.read().split(b'\0'):
                    found.append(int(pid))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found
