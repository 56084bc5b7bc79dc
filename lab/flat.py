# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A cloud whose gateways have everything in the default VRF."""

from lab import cloud
from lab import plan
from lab import wiring

_SYSCTLS = {
    'net__ipv4__ip_forward': 1, 'net__ipv4__conf__all__rp_filter': 2,
    'net__ipv4__conf__default__rp_filter': 2}


def without_vrf(config) -> str:
    """Lines of :mod:`lab.frr` for the default VRF."""
    lines, inside = [], False
    for line in config.splitlines():
        if line == f'vrf {plan.VRF}':
            inside = True
        elif line == 'exit-vrf':
            inside = False
        else:
            lines.append(line.strip() if inside else
                         line.removesuffix(f' vrf {plan.VRF}'))
    return '\n'.join(lines) + '\n'


class FlatCloud(cloud.Cloud):
    """A cloud without VRFs; the only default route comes from BGP."""

    VRF = False

    def wire_gateway(self, name):
        """Uplink and loopback are in the default VRF."""
        node = self[name]
        node.sysctl(**_SYSCTLS)
        node.batch('\n'.join([
            *wiring.management(node), 'link set lo up',
            'link add loopback1 type dummy', 'link set loopback1 up',
            f'addr add {plan.LOOPBACKS[name]}/32 dev loopback1',
            'link set eth1 up',
            f'addr add {plan.UPLINKS[name][1]}/30 dev eth1']) + '\n')

    def routing(self, name):
        """The same filters, in the default VRF."""
        return without_vrf(super().routing(name))
