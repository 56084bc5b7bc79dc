# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The veth pair between the default VRF and FRR's, for each family.  Pure.

Several drivers may want the same resources of the pair.
"""

from collections.abc import Iterator
import typing

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.conf.options import veth_leak as options

DEFAULT = {4: '0.0.0.0/0', 6: '::/0'}
PAIR = resources.Ref(resources.VethPair.kind, (ownership.VETH_DEFAULT,))

_LENGTH = {4: 30, 6: 64}


def ends(settings: typing.Any, version: int) -> tuple[str, str]:
    """Addresses of veth-default and veth-provider, by conf.veth_leak.ENDS."""
    return {4: (settings.veth_leak.veth_nexthop,
                options.provider_ip(settings)),
            6: ownership.VETH_LINK_LOCAL}[version]


def addresses(settings: typing.Any, version: int
              ) -> Iterator[resources.Address | resources.Neighbour]:
    """The addresses of both ends, and a permanent neighbour at each end.

    For IPv4, only traffic from outside would keep ARP between the ends alive.
    """
    own = dict(zip(ownership.VETH_ENDS, ends(settings, version), strict=True))
    for dev, peer in (ownership.VETH_ENDS, ownership.VETH_ENDS[::-1]):
        yield resources.Address(dev, f'{own[dev]}/{_LENGTH[version]:d}',
                                requires=(PAIR,))
        yield resources.Neighbour(dev, own[peer], peer, requires=(PAIR,))


def without_vrf(settings: typing.Any, version: int) -> resources.Rule:
    """The rule that drops packets from the pair that the VRF does not take.

    When the VRF is gone, its end of the pair belongs to the default VRF.
    Answers of VIPs would leave by the default route of the main table, and
    packets of floating IPs would go round in the pair.
    """
    return resources.Rule(
        settings.veth_leak.veth_leak_rule_priority - 1, resources.BLACKHOLE,
        iif=ownership.VETH_PROVIDER, ipv6=version == 6 or None)
