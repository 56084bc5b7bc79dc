# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Static routes of the agent in an FRR of its own."""

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.frr import base


def route(last, network='198.51.100'):
    return resources.Announcement('', f'{network}.{last}/32', base.BRIDGE)


class StaticTestCase(base.FrrTestCase):

    def setUp(self):
        super().setUp()
        self.backend = frr_static.StaticBackend(self.conf)
        self.addCleanup(self.backend.close)
        self.frr.configure(
            f'ip prefix-list {base.LIST} seq 5 permit 198.51.100.0/24 ge 32')

    def read(self):
        return set(self.backend.read(frozenset()))

    def create(self, *routes):
        return self.backend.apply(backends.Delta(create=routes))

    def delete(self, *routes):
        return self.backend.apply(backends.Delta(delete=routes))

    def wait_refreshed(self):
        """Until no soft refresh is due any more."""
        self.assertTrue(self.backend.refreshes.wait(waiting.DEADLINE))
