# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""BGP unnumbered between the gateways and the spine (RFC 8950).

Each uplink has nothing but link-local addresses of IPv6.  One session over
them carries the routes of both families, with next hops of IPv6, and each side
names its neighbour by the device.
"""

from lab import frr
from lab import node as nodes
from lab import plan

_DEVICE = 'eth1'


def gateway_config(name):
    """The lines that put the session in the place of the others."""
    asn, of_spine = plan.GATEWAY_AS[name], plan.SPINE_AS
    return f'''\
router bgp {asn} vrf {plan.VRF}
 no neighbor {plan.UPLINKS[name][0]}
 no neighbor {plan.uplink6(name)[0]}
 neighbor {_DEVICE} interface remote-as {of_spine}
 neighbor {_DEVICE} timers connect 1
 !
 address-family ipv4 unicast
  neighbor {_DEVICE} activate
  neighbor {_DEVICE} soft-reconfiguration inbound
  neighbor {_DEVICE} route-map PROVIDER-IN in
  neighbor {_DEVICE} route-map PROVIDER-FILTER-OUT out
 exit-address-family
 !
 address-family ipv6 unicast
  neighbor {_DEVICE} activate
  neighbor {_DEVICE} soft-reconfiguration inbound
  neighbor {_DEVICE} prefix-list FABRIC in
  neighbor {_DEVICE} prefix-list ANNOUNCED-NETWORKS out
 exit-address-family
exit
!
'''


def spine_config(gateways):
    """The same on the spine."""
    lines, families = [], {4: [], 6: []}
    for name in gateways:
        device = 'to-' + name
        lines += [f'no neighbor {plan.UPLINKS[name][1]}',
                  f'no neighbor {plan.uplink6(name)[1]}',
                  f'neighbor {device} interface remote-as '
                  f'{plan.GATEWAY_AS[name]:d}',
                  f'neighbor {device} timers connect 1']
        for family in families.values():
            family += [f'neighbor {device} activate',
                       f'neighbor {device} default-originate']
    for version, family in families.items():
        lines += [f'address-family ipv{version:d} unicast', *family,
                  'exit-address-family']
    return '\n'.join([f'router bgp {plan.SPINE_AS}', *lines, 'exit', ''])


def replace(cloud):
    """Put BGP unnumbered in the place of the sessions of a cloud with IPv6."""
    frr.add(cloud['spine'], spine_config(cloud.gateways))
    for name in cloud.gateways:
        frr.add(cloud[name], gateway_config(name))
        for node, device, end in ((cloud['spine'], 'to-' + name, 0),
                                  (cloud[name], _DEVICE, 1)):
            node.batch(f'addr del {plan.UPLINKS[name][end]}/30 dev {device}\n'
                       f'addr del {plan.uplink6(name)[end]}/64 dev {device}\n')
    nodes.wait_until('the gateways have heard of the client', lambda: all(
        'via inet6 fe80' in _default(cloud[name], '-4') and
        'via fe80' in _default(cloud[name], '-6')
        for name in cloud.gateways), 60)


def _default(node, family):
    """The default route that a gateway has from BGP, text."""
    return node.out('ip', family, 'route', 'show', 'table',
                    str(plan.VRF_TABLE), 'proto', 'bgp', 'default')
