# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A driver of a package that makes subjects of a kind of its own of rows."""

import json
import os
import signal
import subprocess
import sys

from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.cmd import base
from ovn_network_agent.tests.functional.cmd import running
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

SERVICES = os.path.join(os.path.dirname(__file__), 'services')


@ovsdb.needs_ovsdb
@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class ServicesTest(running.RunningTestCase):

    def setUp(self):
        super().setUp()
        self.install(SERVICES)
        self.socket = os.path.join(self.directory, 'control.ctl')

    def addresses(self):
        """The addresses of the driver on br-ex of the agent, a set."""
        shown = subprocess.run(
            namespaces.inside(self.agent.pid, 'ip', '-j', '-4', 'address',
                              'show', 'dev', 'br-ex'),
            capture_output=True, text=True).stdout
        return {f'{found["local"]}/{found["prefixlen"]:d}'
                for link in json.loads(shown or '[]')
                for found in link.get('addr_info', ())
                if found['local'].startswith('192.0.2.')}

    def put(self, name, service, *addresses):
        """Have an address set name the addresses of a service."""
        values = {'addresses': ['set', list(addresses)],
                  'external_ids': ovsdb.ovsdb_map(service=service)}
        if self.cloud.nb.rows('Address_Set', where=ovsdb.clauses(
                {'name': name})):
            self.cloud.nb.transact(ovsdb.update(
                'Address_Set', {'name': name}, **values))
        else:
            self.cloud.nb.transact(ovsdb.insert('Address_Set', name=name,
                                                **values))
            self.addCleanup(self.cloud.nb.transact, ovsdb.delete(
                'Address_Set', {'name': name}))

    def become(self, *addresses):
        self.eventually(lambda: self.addresses() == set(addresses))

    def problems(self):
        return [reason for reason in self.status(self.socket)['degraded']
                if 'Service' in reason]

    def start_with_one(self):
        self.put('one', 'dns', '192.0.2.53/32')
        self.file = self.config(
            '[frr]\nvrf_name =\n[services]\ndevice = br-ex\n', self.remotes,
            drivers='services', driver_devices='br-ex', shutdown_timeout=3,
            reconcile_interval=3600, control_socket=self.socket)
        self.start(self.file)
        self.become('192.0.2.53/32')

    def beside(self, *args):
        """Run a program beside the agent; gives a CompletedProcess."""
        return subprocess.run(
            namespaces.inside(self.agent.pid, *args), env=self.env,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=base.LIMIT)

    def explain(self, address, *args):
        """(exit status, kind, outcome, dict of check to finding)."""
        ended = self.beside(
            sys.executable, '-W', 'ignore', '-m', 'ovn_network_agent.cmd.ctl',
            '--config-file', self.file, *args, 'explain', '--json', address)
        self.assertEqual('', ended.stderr)
        said = json.loads(ended.stdout)
        return ended.returncode, said['kind'], said['outcome'], {
            each['check']: each for each in said['findings']}

    def explained(self, *expected, args=()):
        """Wait for the verdicts on the resource and the kernel."""
        def said():
            found = self.explain('192.0.2.53', *args)
            self.assertEqual('Service dns of driver services', found[1])
            self.last = found
            return expected == (found[2], *(
                found[3][check]['verdict']
                for check in ('resource', 'driver-services')))
        waiting.eventually(said, lambda: (self.last, self.log()))
        return self.last[3]

    def test_explain(self):
        self.start_with_one()
        found = self.explained('ok', 'OK', 'OK')
        self.assertEqual(0, self.last[0])
        self.assertEqual(['agent', 'resource', 'driver-services'],
                         list(found))
        self.assertEqual(
            ('address', 'dev=br-ex address=192.0.2.53/32: in place'),
            (found['resource']['layer'], found['resource']['evidence']))
        # Without an agent, the driver's own look is what is left.
        found = self.explained('ok', 'NOT CHECKED', 'OK',
                               args=('--socket', self.socket + '-none'))
        self.assertIn('no agent runs', found['resource']['evidence'])
        # An agent that hangs, and an address that somebody removes.
        self.hang('192.0.2.53/32')
        found = self.explained('broken', 'NOT CHECKED', 'BROKEN')
        self.assertEqual(1, self.last[0])
        self.assertTrue(found['driver-services']['remedy'])
        self.go_on()
        self.explained('ok', 'OK', 'OK')
        self._of_nobody()
        self.beside('ip', 'link', 'del', 'br-ex')
        found = self.explained('broken', 'BROKEN', 'BROKEN')
        self.assertIn('br-ex', found['resource']['evidence'])
        self.assertTrue(found['resource']['remedy'])

    def _of_nobody(self):
        status, _kind, outcome, found = self.explain('192.0.2.99')
        self.assertEqual((6, 'nobody'), (status, outcome), found)
        # Nobody knows which addresses a bad row would have.
        self.put('two', 'ntp', 'nonsense')
        status, _kind, outcome, found = self.explain('192.0.2.99')
        self.assertEqual((1, 'unknown'), (status, outcome), found)
        self.assertIn('Service ntp: AddressValueError',
                      found['subject']['evidence'])
        self.explained('ok', 'OK', 'OK')

    def hang(self, address):
        """Stop the process of the agent, and remove an address."""
        os.kill(self.agent.pid, signal.SIGSTOP)
        self.addCleanup(self.go_on)
        self.beside('ip', 'address', 'del', address, 'dev', 'br-ex')
        self.assertEqual(set(), self.addresses())

    def go_on(self):
        os.kill(self.agent.pid, signal.SIGCONT)

    def test_rows_become_addresses_in_the_kernel(self):
        self.start_with_one()
        # Another row of the same service, and another service.
        self.put('two', 'dns', '192.0.2.54/32')
        self.put('three', 'ntp', '192.0.2.123/32')
        self.become('192.0.2.53/32', '192.0.2.54/32', '192.0.2.123/32')
        # A bad row costs its own service alone, which stays as it was.
        self.put('two', 'dns', 'nonsense')
        self.put('three', 'ntp', '192.0.2.124/32')
        self.become('192.0.2.53/32', '192.0.2.54/32', '192.0.2.124/32')
        self.eventually(lambda: len(self.problems()) == 1)
        self.assertIn("Service dns: AddressValueError", self.problems()[0])
        # A row that goes over to another service.
        self.put('two', 'ntp', '192.0.2.125/32')
        self.become('192.0.2.53/32', '192.0.2.124/32', '192.0.2.125/32')
        self.eventually(lambda: not self.problems())
        self.cloud.nb.transact(ovsdb.delete('Address_Set', {'name': 'one'}))
        self.become('192.0.2.124/32', '192.0.2.125/32')
