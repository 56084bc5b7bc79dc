# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A third-party driver: an address of a service on active gateways.

As long as this chassis is active for at least one router, it has the
address; BGP may then announce it as it does any connected network.
"""

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.drivers import base


class AnycastDriver(base.Driver):
    """Wants an address as long as a router is active here."""

    CONFIG_OPTS = [
        cfg.StrOpt('device', default='lo',
                   help='Device that gets the address.'),
        cfg.StrOpt('address', required=True,
                   help='The address with its prefix length.'),
    ]
    SUBJECTS = (model.Router,)

    def __init__(self, name, conf):
        super().__init__(name, conf)
        if '/' not in conf.anycast.address:
            raise ValueError('[anycast] address has no prefix length')

    def events(self):
        # The agent watches the routers anyhow; this is a table of our own.
        yield base.Watch('nb', 'Address_Set', ('name', 'addresses'))

    def resources(self, subject, node):
        if subject.local_ports:
            yield resources.Address(self.settings.anycast.device,
                                    self.settings.anycast.address)
