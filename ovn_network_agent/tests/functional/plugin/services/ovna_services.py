# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A driver of another project, with a kind of subject of its own.

An address set of OVN with the external id ``service`` names the addresses of
a service of the node, one row each; sets of one service are one subject.
"""

import dataclasses
import ipaddress
import socket

from oslo_config import cfg

from ovn_network_agent import resources
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers import source

_SETS = ('nb', 'Address_Set')


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """The addresses of a service."""

    name: str
    addresses: tuple[str, ...]


class Services(source.Source):
    """Makes a service of the address sets that name it."""

    KIND = Service
    INDEXES = {_SETS: {'service': lambda row: [
        row.external_ids['service']] if 'service' in row.external_ids else ()}}
    NAMES = (*_SETS, 'service')

    def build(self, name, find):
        return Service(name, tuple(sorted(
            str(ipaddress.IPv4Interface(text))
            for row in find(*self.NAMES, name) for text in row.addresses)))


class ServicesDriver(base.Driver):
    """Wants the addresses of services on a device."""

    CONFIG_OPTS = (cfg.StrOpt('device', default='lo',
                              help='Device that gets the addresses.'),)
    SUBJECTS = (Service,)
    SOURCES = (Services,)

    def events(self):
        yield base.Watch(*_SETS, ('name', 'addresses', 'external_ids'))

    def resources(self, subject, node):
        for address in subject.addresses:
            yield resources.Address(self.settings.services.device, address)

    def explain(self, subject, address):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind((address, 0))
            except OSError as error:
                yield base.Layer('address in the kernel', 'BROKEN', str(error),
                                 'ovn-network-agent-ctl resync')
            else:
                yield base.Layer('address in the kernel', 'OK', 'is local')
