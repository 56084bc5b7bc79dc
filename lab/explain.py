# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The state of one floating IP in every layer, in the systems' own output."""

import re

from lab import plan


def layers(cloud, name: str, fip) -> list[tuple[str, str, list[str]]]:
    """The state of an address in each layer.

    :param name: name of the gateway that has the address
    """
    node, address = cloud[name], fip.address
    found = [_northbound(cloud, fip), _southbound(cloud, name, fip)]
    for layer, argv, pattern in (
            ('NB, written by the agent',
             ['ovn-nbctl', '--db=' + plan.NB, 'lr-route-list',
              fip.router.row_name], '0.0.0.0/0'),
            ('flow on the bridge', ['ovs-ofctl', 'dump-flows', plan.BRIDGE],
             f'nw_dst={address} '),
            ('flow on the bridge', ['ovs-ofctl', 'dump-flows', plan.BRIDGE],
             'cookie=0x999.*priority=900,ip,'),
            ('kernel, default VRF', ['ip', 'route', 'get', address], '.'),
            ('kernel, way back',
             ['ip', 'rule'], f'veth-default|{plan.PROVIDER}'),
            ('kernel, way back', ['ip', 'route', 'show', 'table', '200'],
             '.'),
            ('kernel, provider VRF',
             ['ip', 'route', 'show', 'vrf', plan.VRF, address], '.'),
            ('FRR, zebra',
             ['vtysh', '-c', f'show ip route vrf {plan.VRF} {address}/32'],
             'Known via|169.254|directly'),
            ('FRR, filter',
             ['vtysh', '-c', 'show ip prefix-list ANNOUNCED-NETWORKS'],
             'BGP|permit'),
            ('FRR, bgpd',
             ['vtysh', '-c',
              f'show bgp vrf {plan.VRF} ipv4 unicast neighbors '
              f'{plan.UPLINKS[name][0]} advertised-routes'],
             address)):
        found.append((layer, ' '.join(argv),
                      _matching(node.out(*argv), pattern)))
    found.append(('spine', f'show bgp ipv4 unicast {address}/32',
                  _matching(cloud['spine'].out(
                      'vtysh', '-c', f'show bgp ipv4 unicast {address}/32'),
                      'from|best')))
    return found


def _northbound(cloud, fip):
    row = cloud.nb.find('NAT', external_ip=fip.address)
    return ('NB, written by Neutron', 'NAT', [
        f'type={row.type} external_ip={row.external_ip} '
        f'logical_ip={row.logical_ip}'])


def _southbound(cloud, name, fip):
    port = 'cr-' + fip.router.lrp
    return ('SB, which chassis', f'Port_Binding {port}', [
        f'chassis {plan.system_id(name)} = {cloud.neutron.owner(fip.router)}'])


def _matching(text, pattern):
    return [line.strip() for line in text.splitlines()
            if line.strip() and re.search(pattern, line)]
