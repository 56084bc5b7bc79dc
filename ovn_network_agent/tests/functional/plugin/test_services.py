# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""A driver of a package that makes subjects of a kind of its own of rows."""

import json
import os
import subprocess

from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs
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

    def test_rows_become_addresses_in_the_kernel(self):
        self.put('one', 'dns', '192.0.2.53/32')
        self.start(self.config(
            '[frr]\nvrf_name =\n[services]\ndevice = br-ex\n', self.remotes,
            drivers='services', driver_devices='br-ex', shutdown_timeout=3,
            reconcile_interval=3600, control_socket=self.socket))
        self.become('192.0.2.53/32')
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
