# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an address is, asked of databases with a cloud."""

from ovn_network_agent.diagnosis.address import finding
from ovn_network_agent.ovsdb import streams
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.unit import world


class Subjects:
    """Mix-in for a test case with a cloud: asks for subjects.

    :cvar options: of the configuration, unless a test has others
    """

    options = {'drivers': ['fip_route', 'veth_leak']}

    def setUp(self):
        super().setUp()
        self._remotes = self.remotes()

    def configuration(self, **options):
        conf = world.conf(
            bridge_dev=cloud.BRIDGE,
            ovs__ovsdb_connection=self._remotes['ovs'],
            ovn__ovn_nb_remote=[self._remotes['nb']],
            ovn__ovn_sb_remote=[self._remotes['sb']],
            **{**self.options, **options})
        streams.configure(conf)
        return conf

    def drivers(self, conf):
        return [world.driver(name, conf) for name in conf.drivers]

    def subject(self, address, **options):
        return self.find(self.configuration(**options), address)

    def find(self, conf, address, standing=None):
        """The subject outside of VNIs, with what the agent says of it."""
        return self.all_of(conf, address, standing)[0]

    def subjects(self, address, **options):
        """The one outside of VNIs, and those in VNIs, a list."""
        return self.all_of(self.configuration(**options), address)

    def all_of(self, conf, address, standing=None):
        return finding.find(conf, address, self.drivers(conf),
                            lambda vni: standing)[0]

    def kind(self, address, **options):
        return self.subject(address, **options).kind
