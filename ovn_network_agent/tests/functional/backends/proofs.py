# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Proofs that routers are announced, for their tests."""

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import advertised
from ovn_network_agent.tests.functional.backends import northbound_rows
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.unit import world as worlds


class Rows:
    """Mix-in for a test case with a cloud: routers and proofs."""

    def setUp(self):
        super().setUp()
        self.eyes_ = self.eyes()
        self.router = self.add_router('r1')
        self.backend = self.agent()

    def add_router(self, name, external_ids=northbound_rows.OURS):
        router = self.cloud.add_router(name, chassis=cloud.CHASSIS)
        self.cloud.add_static_route(name, nexthop='198.51.100.254',
                                    external_ids=external_ids)
        self.synchronise(self.eyes_)
        return router

    def agent(self, patience=advertised.TIMEOUT, **options):
        made = advertised.AdvertisedBackend(worlds.conf(
            frr__vrf_name='', **options), patience)
        made.attach(backends.Context(self.eyes_.databases,
                                     lambda: frozenset((cloud.OWNER,))))
        return made

    def proof(self, *prefixes, router=None):
        return resources.Advertised(router or self.router, cloud.OWNER,
                                    prefixes)

    def apply(self, *wanted, backend=None):
        """The failures, by UUID of the router."""
        failures = (backend or self.backend).apply(
            backends.Delta(create=wanted))
        return {ref.key[0]: reason for ref, reason in failures.items()}

    def marks(self):
        """external_ids of the static routes."""
        return [dict(row['external_ids'][1]) for row in
                self.nb.rows('Logical_Router_Static_Route')]
