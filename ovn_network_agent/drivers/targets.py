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


"""The addresses of a router that each gateway port answers for.  Pure."""

import dataclasses

from ovn_network_agent import iptext
from ovn_network_agent import networks


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """One address to make reachable.

    :ivar address: IP address
    :ivar mac: MAC of the router port that answers for it
    """

    address: str
    mac: str


def port_targets(router, port, nets):
    """The addresses that a served port answers for.

    :param router: :class:`model.Router`
    :param port: a served :class:`model.GatewayPort` of the router
    :param nets: IPv4 networks; IPv4 addresses outside of them are left out
    :returns: tuple of :class:`Target`, sorted, each once
    """
    addresses = {nat.external_ip for nat in router.nats
                 if not nat.distributed_mac}
    addresses.update(_balanced(router, port))
    if len(router.ports) > 1:
        # Another port may be on another chassis, which answers for it.
        addresses = {a for a in addresses
                     if networks.owner(a, router.ports) is port}
    addresses.update(port.nat_addresses)
    addresses = {a for a in addresses if networks.inside(a, nets)}
    addresses.update(_own(port, nets))
    return tuple(Target(a, port.mac) for a in sorted(addresses))


def _balanced(router, port):
    """Virtual IPs of load balancers that the gateway answers for.

    These may be addresses of tenants.  For IPv4, the caller leaves out
    addresses outside of provider networks.
    """
    nets = networks.of_version(6, port.networks)
    for each in router.balanced:
        address = iptext.address(each.address)
        if not each.unanswered and (
                address.version == 4 or any(address in n for n in nets)):
            yield each.address


def _own(port, nets):
    for text in port.networks:
        address = str(networks.parse_interface(text).ip)
        # Discovered networks contain it anyhow; a manual network_cidr
        # leaves out what is not in it.
        if networks.inside(address, nets):
            yield address
