# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tests against the real kernel, each in a network namespace of its own.

The thread that runs the test moves into a new namespace and back; the
namespace and all that is in it are gone when its last socket is closed.
The entry points run in this process, without a daemon, except in
test_privileges.
"""

import json
import os
import subprocess
import unittest

from ovn_network_agent import privileged
from ovn_network_agent.backends import base
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import channel
from ovn_network_agent.tests import configs
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs


@needs.needs(os.geteuid() == 0, 'makes network namespaces: needs root')
class KernelTestCase(unittest.TestCase):
    """In a new namespace with lo up and ``br-ex``, one end of a veth.

    :cvar driver_devices: devices that the root side may change in any way
    :cvar rules_file: that of port forwards, '' where none are forwarded
    """

    rules_file = '/rules'

    driver_devices = ('br-ex', 'br-ex-peer', 'br-ex.7', 'v.10', 'absent')

    def setUp(self):
        super().setUp()
        self.enterContext(namespaces.new())
        # An agent in this process, of a test before, has one elsewhere.
        channel.close()
        self.addCleanup(channel.close)
        privileged.kernel.set_client_mode(False)
        self.addCleanup(privileged.kernel.set_client_mode, True)
        # A check for a second user of an address takes a second.
        for name in ('all', 'default'):
            self.set_sysctl(f'net/ipv6/conf/{name}/accept_dad', '0')
        self.ip('link set lo up')
        self.ip('link add br-ex type veth peer name br-ex-peer')
        self.conf = self.configure()

    def configure(self, vrf_name='', **fip_route):
        """A configuration with the defaults but for these values."""
        conf = configs.conf(
            ovn__ovn_nb_remote=['unix:/nowhere'],
            ovn__ovn_sb_remote=['unix:/nowhere'], frr__vrf_name=vrf_name,
            driver_devices=list(self.driver_devices),
            port_forward__rules_file=self.rules_file,
            **{f'fip_route__{name}': value
               for name, value in fip_route.items()})
        self.fix_limits(conf)
        return conf

    def fix_limits(self, conf):
        """Start the root side with a configuration."""
        limits.fix(conf)
        self.addCleanup(limits.forget)

    def bridge_up(self):
        """Bring br-ex up with an address, so that routes can use it."""
        self.ip('link set br-ex up')
        self.ip('link set br-ex-peer up')
        self.ip('address add 169.254.169.254/32 dev br-ex')

    def ip(self, command):
        """Run ip(8), as the operator would.

        :returns: its output
        """
        return subprocess.run(
            ['ip', *command.split()], check=True, capture_output=True,
            text=True).stdout

    def shown(self, command):
        """What ip(8) shows, parsed."""
        return json.loads(self.ip('-j ' + command) or '[]')

    def routes(self, table='main'):
        """{dst: protocol} of the IPv4 routes of a table."""
        return {route['dst']: route['protocol'] for route in
                self.shown(f'-d -N route show table {table}')}

    def sysctl(self, path):
        """Value of a sysctl of this namespace."""
        with open('/proc/sys/' + path) as opened:
            return opened.read().strip()

    def set_sysctl(self, path, value):
        with open('/proc/sys/' + path, 'w') as opened:
            opened.write(value)

    def create(self, backend, *resources):
        """Create resources and expect success.

        :returns: what the backend reads afterwards
        """
        return self.change(backend, create=resources)

    def change(self, backend, **delta):
        """Apply a delta and expect success; returns what is read then."""
        delta = base.Delta(**delta)
        self.assertEqual({}, backend.apply(delta))
        known = [*delta.create, *delta.delete,
                 *(new for _old, new in delta.update)]
        return backend.read(frozenset(r.ref for r in known))
