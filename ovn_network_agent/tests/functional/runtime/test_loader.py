# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A driver from a separate package, and drivers that cannot be used."""

import json
import os
import subprocess
import sys

from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional import plugin
from ovn_network_agent.tests.functional.cmd import base
from ovn_network_agent.tests.functional.cmd import running
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

ANYCAST = os.path.join(os.path.dirname(plugin.__file__), 'anycast')
ADDRESS = '192.0.2.53/32'
OPTIONS = ('[frr]\nvrf_name =\n[anycast]\ndevice = br-ex\n'
           f'address = {ADDRESS}\n')
GROUP = 'ovn_network_agent.drivers'
BACKEND = '''
from oslo_config import cfg
from ovn_network_agent.backends import base
from ovn_network_agent import resources


class Thing(resources.Resource):
    kind = 'thing'


class Backend(base.Backend):
    def read(self, known):
        return []

    def apply(self, delta):
        return {}

'''
ASKING = '''
from ovn_network_agent.conf import plugins
from ovn_network_agent.drivers import base


class Driver(base.Driver):
    ASKS = (plugins.MACHINES,)
'''
# Has the metadata of a package taken away, as pip does, between the two.
REPLACED = '''
import os
import sys

from oslo_config import cfg
from ovn_network_agent.conf import plugins
from ovn_network_agent.runtime import loader
from ovn_network_agent.runtime import reloads

reloads.read(cfg.CONF, ["--config-file", sys.argv[1]])
driver, = loader.load_drivers(cfg.CONF)
os.rename(sys.argv[2], sys.argv[2] + ".away")
print(driver.name, plugins.requested(cfg.CONF, plugins.MACHINES))
'''
OPTION_OF_BACKEND = '''
    kinds = (Thing,)
    CONFIG_OPTS = (cfg.IntOpt('gauge', default=1),)
'''


@ovsdb.needs_ovsdb
@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class AnycastTest(running.RunningTestCase):
    """The program with that driver."""

    def setUp(self):
        super().setUp()
        self.install(ANYCAST)

    def addresses(self):
        """IPv4 addresses of br-ex in the namespace of the agent."""
        shown = subprocess.run(
            namespaces.inside(self.agent.pid, 'ip', '-j', '-4', 'address',
                              'show', 'dev', 'br-ex'),
            capture_output=True, text=True).stdout
        return {f'{address["local"]}/{address["prefixlen"]:d}'
                for link in json.loads(shown or '[]')
                for address in link.get('addr_info', ())}

    def test_its_resource_lands_in_the_kernel_and_leaves_it(self):
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.start(self.config(OPTIONS, self.remotes, drivers='anycast',
                               driver_devices='br-ex', shutdown_timeout=3))
        self.eventually(lambda: ADDRESS in self.addresses())
        self.cloud.move('lrp-r1', cloud.OTHER)
        self.eventually(lambda: ADDRESS not in self.addresses())
        self.cloud.move('lrp-r1', cloud.CHASSIS)
        self.eventually(lambda: ADDRESS in self.addresses())
        # A namespace lives as long as somebody is in it.
        guest = subprocess.Popen(
            namespaces.inside(self.agent.pid, 'cat'), stdin=subprocess.PIPE)
        self.addCleanup(guest.wait)
        self.addCleanup(guest.stdin.close)
        self.stop()
        shown = subprocess.run(
            namespaces.inside(guest.pid, 'ip', '-4', 'address', 'show',
                              'dev', 'br-ex'),
            check=True, capture_output=True, text=True).stdout
        self.assertNotIn('192.0.2.53', shown)


class ReplacedTest(base.ProgramTestCase):

    def test_a_package_that_is_being_replaced(self):
        """A driver that runs gets what it asks for."""
        self.write_module('ovna_test', ASKING)
        self.declare('ovna-test', {GROUP: {'asking': 'ovna_test:Driver'}})
        done = subprocess.run(
            [sys.executable, '-c', REPLACED,
             self.config('[frr]\nvrf_name =\n', drivers='asking'),
             os.path.join(self.site, 'ovna_test-1.0.dist-info')],
            env=self.env, capture_output=True, text=True)
        self.assertEqual('asking True', done.stdout.strip(), done.stderr)


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
        self.declare(package, {GROUP: {name: f'{module}:{target}'}})

    def test_missing(self):
        self.refused('anycast', 'egress_ip, evpn, fip_route, gateway_drain, '
                     'load_balancer, network_peer, port_forward, '
                     'provider_port, tenant_network, veth_leak',
                     drivers='fip_route,anycast')

    def test_provided_twice(self):
        self.install(ANYCAST)
        self.provide('class Driver:\n    CONFIG_OPTS = ()\n')
        self.refused('anycast', 'ovna_anycast:AnycastDriver',
                     'ovna_test:Driver', 'uninstall one')

    def test_its_module_cannot_be_imported(self):
        self.provide('import no_such_library\n')
        self.refused('anycast', 'ovna_test:Driver', 'no_such_library')

    def test_a_required_option_is_not_set(self):
        self.install(ANYCAST)
        self.refused('[anycast] address is not set',
                     more='[frr]\nvrf_name =\n')

    def test_it_refuses_its_configuration(self):
        self.install(ANYCAST)
        self.refused('anycast', '[anycast] address has no prefix length',
                     more=OPTIONS.replace('/32', ''))

    def test_its_section_is_none_that_nobody_knows(self):
        """Another mistake keeps its options from being registered."""
        self.install(ANYCAST)
        ended = self.run_agent('--config-file', self.config(
            OPTIONS, drivers='anycast', reconcile_interval=0))
        self.assertEqual(2, ended.returncode, ended.stderr)
        self.assertNotIn('unknown section', ended.stderr)

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

    def provide_backend(self, text):
        """A backend with these lines in its class."""
        self.write_module('ovna_test', BACKEND + text)
        self.declare('ovna-test', {'ovn_network_agent.backends': {
            'wires': 'ovna_test:Backend'}})

    def test_a_kind_of_two_backends(self):
        self.provide_backend('    kinds = (resources.KernelRoute,)\n')
        self.refused('kind kernel_route', 'route, wires',
                     drivers='fip_route')

    def test_a_check_that_fails(self):
        self.provide_backend('    kinds = (Thing,)\n'
                             '    def check(self):\n'
                             '        raise OSError("no such wire")\n')
        ended = self.run_agent('--config-file', self.config(
            '[frr]\nvrf_name =\n', drivers='fip_route'))
        self.assertEqual(1, ended.returncode, ended.stderr)
        self.assertIn('environment: the check of the backend wires failed: '
                      'OSError: no such wire', ended.stderr)

    def test_an_option_of_a_backend_has_a_bad_value(self):
        self.provide_backend(OPTION_OF_BACKEND)
        self.refused('[wires] gauge', drivers='fip_route',
                     more='[frr]\nvrf_name =\n[wires]\ngauge = thick\n')
