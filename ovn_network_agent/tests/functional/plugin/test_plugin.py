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

"""A driver from a separate package, and drivers that cannot be used."""

import json
import os
import signal
import subprocess

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import ovsdb
from ovn_network_agent.tests.functional.plugin import base

ANYCAST = os.path.join(base.HERE, 'anycast')
ADDRESS = '192.0.2.53/32'
OPTIONS = '[frr]\nvrf_name =\n[anycast]\ndevice = br-ex\naddress = %s\n' % (
    ADDRESS)
GROUP = 'ovn_network_agent.drivers'


class SizeTest(base.ProgramTestCase):

    def test_it_is_small(self):
        lines = 0
        for name in os.listdir(ANYCAST):
            path = os.path.join(ANYCAST, name)
            if os.path.isfile(path):
                with open(path) as opened:
                    lines += len(opened.readlines())
        self.assertLess(lines, 100)


@ovsdb.needs_ovsdb
@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class AnycastTest(base.ProgramTestCase):
    """The program in a namespace, on real databases, with that driver."""

    def setUp(self):
        super().setUp()
        self.install(ANYCAST)
        servers = {}
        for name in ('nb', 'sb', 'ovs'):
            servers[name] = ovsdb.Server(name)
            self.addCleanup(servers[name].close)
            servers[name].start()
        self.cloud = cloud.Cloud(**servers)
        self.cloud.fill()
        self.remotes = {name: server.remote
                        for name, server in servers.items()}

    def start(self):
        """The agent in a namespace of its own with a br-ex."""
        config = self.config(OPTIONS, self.remotes, drivers='anycast',
                             driver_devices='br-ex',
                             shutdown_timeout=3)
        log = open(os.path.join(self.directory, 'log'), 'wb')
        with log:
            self.agent = subprocess.Popen(
                ['unshare', '-n', 'sh', '-ec',
                 'ip link set lo up; '
                 'ip link add br-ex type veth peer name br-ex-peer; '
                 'exec "$@"', 'sh',
                 *self.command('--config-file', config)],
                env=self.env, cwd=self.directory,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(self.agent.wait)
        self.addCleanup(self.agent.kill)

    def addresses(self):
        """IPv4 addresses of br-ex in the namespace of the agent."""
        if self.agent.poll() is not None:
            self.fail(self.log())
        shown = subprocess.run(
            ['nsenter', '-t', str(self.agent.pid), '-n', 'ip', '-j', '-4',
             'address', 'show', 'dev', 'br-ex'], capture_output=True,
            text=True).stdout
        return {'%s/%d' % (address['local'], address['prefixlen'])
                for link in json.loads(shown or '[]')
                for address in link.get('addr_info', ())}

    def log(self):
        with open(os.path.join(self.directory, 'log')) as log:
            return log.read()

    def test_its_resource_lands_in_the_kernel_and_leaves_it(self):
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.start()
        ovsdb.eventually(lambda: ADDRESS in self.addresses(), self.log)
        self.cloud.move('lrp-r1', cloud.OTHER)
        ovsdb.eventually(lambda: ADDRESS not in self.addresses(), self.log)
        self.cloud.move('lrp-r1', cloud.CHASSIS)
        ovsdb.eventually(lambda: ADDRESS in self.addresses(), self.log)
        # A namespace lives as long as somebody is in it.
        guest = subprocess.Popen(
            ['nsenter', '-t', str(self.agent.pid), '-n', 'cat'],
            stdin=subprocess.PIPE)
        self.addCleanup(guest.wait)
        self.addCleanup(guest.stdin.close)
        self.agent.send_signal(signal.SIGTERM)
        # There is no FRR whose routes it could have checked: incomplete.
        self.assertEqual(3, self.agent.wait(base.LIMIT), self.log())
        self.assertIn('Clean-up is not complete: ', self.log())
        shown = subprocess.run(
            ['nsenter', '-t', str(guest.pid), '-n', 'ip', '-4', 'address',
             'show', 'dev', 'br-ex'], check=True, capture_output=True,
            text=True).stdout
        self.assertNotIn('192.0.2.53', shown)


class UnusableTest(base.ProgramTestCase):

    def refused(self, *words, drivers='anycast', more=OPTIONS):
        """It does not start, and says why in one line."""
        ended = self.run_agent('--config-file', self.config(
            more, drivers=drivers))
        self.assertEqual(2, ended.returncode, ended.stderr)
        said = [line for line in ended.stderr.splitlines()
                if line.startswith('ovn-network-agent: configuration: ')]
        self.assertEqual(1, len(said), ended.stderr)
        for word in words:
            self.assertIn(word, said[0])
        self.assertNotIn('Traceback', ended.stderr)

    def provide(self, text, name='anycast', module='ovna_test',
                package='ovna-test', target='Driver'):
        self.write_module(module, text)
        self.declare(package, {GROUP: {name: '%s:%s' % (module, target)}})

    def test_missing(self):
        self.refused('anycast', 'fip_route, gateway_drain, port_forward, '
                     'veth_leak', drivers='fip_route,anycast')

    def test_named_twice(self):
        self.install(ANYCAST)
        self.refused('anycast more than once', drivers='anycast,anycast')

    def test_provided_twice(self):
        self.install(ANYCAST)
        self.provide('class Driver:\n    CONFIG_OPTS = ()\n')
        self.refused('anycast', 'ovna_anycast:AnycastDriver',
                     'ovna_test:Driver', 'uninstall one')

    def test_its_module_cannot_be_imported(self):
        self.provide('import no_such_library\n')
        self.refused('anycast', 'ovna_test:Driver', 'no_such_library')

    def test_its_class_is_not_there(self):
        self.provide('')
        self.refused('anycast', 'ovna_test:Driver')

    def test_it_refuses_its_configuration(self):
        self.install(ANYCAST)
        self.refused('anycast', '[anycast] address is not set',
                     more='[frr]\nvrf_name =\n')

    def test_its_subscriptions_cannot_be_used(self):
        self.provide('from ovn_network_agent.drivers import base\n\n\n'
                     'class Driver(base.Driver):\n'
                     '    def events(self):\n'
                     '        yield base.Watch("mysql", "nat", ("ip",))\n')
        self.refused('anycast', 'ovna_test:Driver', 'mysql', 'nb, sb, ovs')

    def test_it_is_no_driver(self):
        self.provide('class Driver:\n'
                     '    CONFIG_OPTS = ()\n'
                     '    def __init__(self, name, conf):\n'
                     '        pass\n')
        self.refused('anycast', 'ovna_test:Driver', 'drivers.base.Driver')

    def test_a_backend_that_fails_is_one_of_the_start_too(self):
        self.write_module('ovna_test', 'class Backend:\n'
                          '    def __init__(self, conf):\n'
                          '        raise ValueError("no such device")\n')
        self.declare('ovna-test', {'ovn_network_agent.backends': {
            'wires': 'ovna_test:Backend'}})
        self.refused('wires', 'no such device', drivers='fip_route')

    def test_a_backend_that_is_provided_twice(self):
        self.write_module('ovna_test', 'class Backend: pass\n')
        self.declare('ovna-test', {'ovn_network_agent.backends': {
            'route': 'ovna_test:Backend'}})
        self.refused('route', 'ovna_test:Backend', 'uninstall one',
                     drivers='fip_route')
