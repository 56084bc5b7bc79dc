# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of what this node has for a machine in the VRF of a VNI.  Pure."""

import typing

from ovn_network_agent import diagnosis
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import bgp
from ovn_network_agent.diagnosis.address import facts as known
from ovn_network_agent.diagnosis.address import forwarding
from ovn_network_agent.diagnosis.address import kernel
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import evpn
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import vni_links

_ESTABLISHED = 'Established'
_NAMED = 5
_Resource = typing.TypeVar('_Resource', bound=resources.Resource)


def judge(facts: known.Facts) -> list[diagnosis.Finding]:
    """The findings of a machine here, from its devices to the neighbours."""
    has = subjects.certain(facts.vni)
    found = [verdicts.read('vni-devices', _devices, facts, has.devices),
             verdicts.read('vni-port', _port, facts, has.devices, has.port),
             *forwarding.flows(facts)]
    checks = {'vni-gateway': _gateway, 'vni-rules': _rules}
    if facts.announces:
        checks |= {'vni-neighbour': _neighbour, 'vni-route': _route}
    found += [verdicts.read(check, function, facts, facts.kernel)
              for check, function in checks.items()]
    found.append(kernel.judge_filters(facts))
    if not facts.announces:
        return found
    found += [verdicts.read('vni-zebra', _zebra, facts, has.states),
              _redistribute(facts),
              verdicts.read('evpn-sessions', _sessions, facts, has.sessions),
              verdicts.read('evpn-route', _announced, facts, has.rds,
                            has.routes)]
    return [*found, verdicts.read('vni-next-hops', _hops, facts, has.hops),
            verdicts.read('vni-way-back', _back, facts, facts.kernel)]


def of_network(facts: known.Facts) -> diagnosis.Finding:
    """The finding about the VNI of the address."""
    place = facts.subject.port or facts.subject.network
    vni = subjects.certain(place.vni if place else None)
    if vni.problem:
        return verdicts.problem('vni', vni.problem)
    targets = ', '.join(f'{word} {", ".join(of)}' for word, of in (
        ('imports', vni.imports), ('exports', vni.exports)) if of)
    return verdicts.ok('vni', ', '.join(filter(None, (
        f'{vni.number:d}', evpn_names.vrf(vni.number),
        vni.rd and f'rd {vni.rd}', targets))))


def _one(facts: known.Facts, kind: type[_Resource]) -> _Resource:
    return subjects.certain(next(iter(facts.subject.wanted_of(kind)), None))


def _vni(facts: known.Facts) -> evpn.Vni:
    return subjects.certain(facts.vni)


def _devices(facts: known.Facts) -> diagnosis.Finding:
    check, wanted = 'vni-devices', _one(facts, resources.VniDevices)
    links, details = _vni(facts).devices
    names = [name(wanted.vni) for name in (
        evpn_names.vrf, evpn_names.bridge, evpn_names.vxlan)]
    foreign = [name for name in names if name in links and
               links[name].alias != ownership.LINK_ALIAS]
    if foreign:
        return verdicts.broken(
            check, f'{", ".join(foreign)} is not of the agent',
            f'"ip link del {foreign[0]}" if nobody needs it; or give the '
            'network another VNI')
    faults = _faults(wanted, names, links, details)
    if faults:
        return verdicts.broken(check, '; '.join(faults), verdicts.RESTORE)
    return verdicts.ok(
        check, f'{names[0]} with table {wanted.table:d}, {names[1]} '
        f'{wanted.mac}, {names[2]} from {wanted.local} with {wanted.mtu:d} '
        'bytes')


def _faults(wanted: resources.VniDevices, names: list[str],
            links: dict[str, links.Link], details: dict[str, vni_links.Details]
            ) -> list[str]:
    lacking = [f'there is no device {name}' for name in names
               if name not in links]
    if lacking:
        return lacking
    vrf, bridge, vxlan = (links[name] for name in names)
    tunnel, size = details[vxlan.name].tunnel, details[vxlan.name].mtu
    underlay = next((link.name for link in links.values()
                     if tunnel and link.index == tunnel.link), '')
    return [text for text, right in (
        *((f'{link.name} is down', link.up)
          for link in (vrf, bridge, vxlan)),
        (f'{vrf.name} has table {vrf.vrf_table:d} and not '
         f'{wanted.table:d}', vrf.vrf_table == wanted.table),
        (f'{bridge.name} is not in {vrf.name}',
         bridge.master == vrf.index),
        (f'{bridge.name} has the MAC {bridge.mac} and not {wanted.mac}',
         bridge.mac == wanted.mac),
        (f'{vxlan.name} is not in {bridge.name}',
         vxlan.master == bridge.index),
        (f'{vxlan.name} learns, or answers no neighbour requests',
         details[vxlan.name].settled),
        (f'{vxlan.name} has another VNI, source, port or underlay', tunnel
         and (tunnel.vni, tunnel.local, tunnel.port, underlay) == (
             wanted.vni, wanted.local, wanted.port, wanted.underlay)),
        (f'{vxlan.name} has an MTU of {size:d} bytes and not of '
         f'{wanted.mtu:d}', size == wanted.mtu)) if not right]


def _port(facts: known.Facts) -> diagnosis.Finding:
    check, wanted = 'vni-port', _one(facts, resources.VniPort)
    links, _details = _vni(facts).devices
    vrf, end = evpn_names.vrf(wanted.vni), evpn_names.bridge_end(wanted.name)
    faults = [f'there is no device {name}' for name in (wanted.name, end)
              if name not in links]
    if not faults:
        faults = [f'{name} is down' for name in (wanted.name, end)
                  if not links[name].up]
        one = links[wanted.name]
        if vrf not in links or one.master != links[vrf].index:
            faults.append(f'{one.name} is not in {vrf}')
        if one.mac != wanted.mac:
            faults.append(f'{one.name} has the MAC {one.mac} and not '
                          f'{wanted.mac}')
    if _vni(facts).port is None:
        faults.append(f'{wanted.bridge} has no port {end} of the agent')
    elif _vni(facts).port != (wanted.bridge, wanted.tag):
        faults.append(f'port {end} is not on {wanted.bridge} with tag '
                      f'{wanted.tag:d}')
    if faults:
        return verdicts.broken(check, '; '.join(faults), verdicts.RESTORE)
    return verdicts.ok(check, f'{wanted.name} {wanted.mac} in {vrf}, {end} '
                              f'on {wanted.bridge} with tag {wanted.tag:d}')


def _gateway(facts: known.Facts) -> diagnosis.Finding:
    """The finding about what machines reach at the veth end."""
    check, dev = 'vni-gateway', facts.device
    faults = [*kernel.addresses_lack(facts, dev),
              *kernel.sysctls_differ(facts, dev),
              *kernel.proxies_lack(facts, dev)]
    if faults:
        return verdicts.broken(check, '; '.join(faults), verdicts.RESTORE)
    return verdicts.ok(check, f'{dev}: ' + ', '.join(
        facts.kernel.addresses.get(dev, ())))


def _neighbour(facts: known.Facts) -> diagnosis.Finding:
    check = 'vni-neighbour'
    wanted = next(each for each in facts.subject.wanted_of(
        resources.Neighbour) if each.dst == facts.subject.nexthop)
    found = facts.kernel.neighbours.get((wanted.dev, wanted.dst))
    if found != (wanted.lladdr, 'PERMANENT'):
        return verdicts.broken(
            check, f'{wanted.dev} has no permanent neighbour {wanted.dst} '
            f'with {wanted.lladdr}' + (
                f', but {found[0]} ({found[1]})' if found else ''),
            verdicts.RESTORE)
    return verdicts.ok(check, f'{wanted.lladdr} on {wanted.dev}')


def _rules(facts: known.Facts) -> diagnosis.Finding:
    check, lacking = 'vni-rules', kernel.rules_lacking(facts)
    if lacking:
        return verdicts.broken(
            check, 'packets of the tenant to an address that the VRF does '
            'not know leave by the main table, because there is no rule ' +
            '; '.join(map(kernel.rule_text, lacking)), verdicts.RESTORE)
    return verdicts.ok(check, 'no packet leaves the VRF by the main table')


def _route(facts: known.Facts) -> diagnosis.Finding:
    check, wanted = 'vni-route', _one(facts, resources.VniRoute)
    found = facts.kernel.lookups.get('vrf')
    if found is None:
        return verdicts.broken(check, 'there is no device '
                               f'{facts.setup.vrf}', verdicts.RESTORE)
    if found.error or (found.dev, found.dst, found.table) != (
            wanted.dev, wanted.dst, wanted.table):
        return verdicts.broken(
            check, f'no route {wanted.dst} dev {wanted.dev} in table '
            f'{wanted.table:d}; {facts.setup.vrf} would use: {found.text()}',
            verdicts.RESTORE)
    if found.protocol != ownership.ROUTE_PROTOCOL:
        return verdicts.warn(
            check, f'{found.text()}: not the mark of the agent, proto '
            f'{ownership.ROUTE_PROTOCOL}',
            'remove the other route, and have the agent compare')
    return verdicts.ok(check, found.text())


def _zebra(facts: known.Facts) -> diagnosis.Finding:
    check, vni = 'vni-zebra', facts.subject.vni
    found, wanted = _vni(facts).states.get(vni), _one(facts,
                                                    resources.VniDevices)
    remedy = (verdicts.RESTORE if _managed(facts) else
              f'in "configure terminal" of vtysh, "vrf {facts.setup.vrf}" / '
              f'"vni {vni:d}"')
    if found is None:
        return verdicts.broken(check, f'zebra has no VNI {vni:d}', remedy)
    if found.vrf != facts.setup.vrf:
        return verdicts.broken(
            check, f'zebra has VNI {vni:d} in {found.vrf} and not in '
            f'{facts.setup.vrf}',
            f'in "configure terminal" of vtysh, "vrf {found.vrf}" / "no vni '
            f'{vni:d}", then "ovn-network-agent-ctl resync"')
    if not found.up:
        return verdicts.broken(
            check, f'VNI {vni:d} is down in zebra',
            'the operator of FRR has to have the instance announce VNIs; '
            f'{_operators(wanted, "advertise-all-vni")}')
    if found.router_mac != wanted.mac:
        return verdicts.broken(
            check, f'zebra has the router MAC {found.router_mac} and not '
            f'{wanted.mac}', verdicts.RESTORE)
    return verdicts.ok(check, f'VNI {vni:d} is up in {found.vrf}, router MAC '
                              f'{found.router_mac}')


def _operators(devices: resources.VniDevices, line: str) -> str:
    """A line of the BGP instance that has the neighbours, in quotes."""
    vrf = f' vrf {devices.underlay}' if devices.underlay else ''
    return (f'in "configure terminal" of vtysh, "router bgp ASN{vrf}" / '
            f'"address-family l2vpn evpn" / "{line}"')


def _managed(facts: known.Facts) -> bool:
    return bool(facts.subject.wanted_of(resources.EvpnInstance))


def _redistribute(facts: known.Facts) -> diagnosis.Finding:
    """The finding whether the VRF's BGP instance has the route."""
    found = bgp.redistributed(facts)
    return found._replace(remedy=verdicts.RESTORE) if (
        _managed(facts) and
        found.verdict is verdicts.Verdict.BROKEN) else found


def _sessions(facts: known.Facts) -> diagnosis.Finding:
    check, found = 'evpn-sessions', _vni(facts).sessions
    down = [each for each in found if each.state != _ESTABLISHED]
    text = ', '.join(f'{each.name} {each.state}' for each in
                     (down or found)[:_NAMED])
    if not found:
        return verdicts.broken(
            check, 'no BGP neighbour is activated for EVPN',
            'the operator of FRR has to activate one; ' + _operators(
                _one(facts, resources.VniDevices),
                'neighbor ADDRESS activate'))
    if down:
        return (verdicts.broken if len(down) == len(found) else
                verdicts.warn)(
            check, text, '"show bgp l2vpn evpn summary" of vtysh, with the '
            'VRF of the neighbours, and the log of bgpd say why')
    return verdicts.ok(check, text)


def _announced(facts: known.Facts) -> diagnosis.Finding:
    """The finding about the type 5 route of the address."""
    check, prefix = 'evpn-route', facts.subject.prefix
    rd = _vni(facts).rds.get(facts.subject.vni)
    if rd is None:
        return verdicts.broken(check, 'bgpd does not have VNI '
                               f'{facts.subject.vni:d}', verdicts.RESTORE)
    sent = _vni(facts).routes.get(prefix)
    if sent is None:
        return verdicts.broken(
            check, f'bgpd has no type 5 route {prefix} with the route '
            f'distinguisher {rd}', verdicts.RESTORE)
    if not sent:
        return verdicts.broken(
            check, f'{prefix} with the route distinguisher {rd} to no '
            'neighbour', 'the operator of FRR has to let EVPN routes pass '
            'the outbound filters of the neighbours; without a policy, bgpd '
            'sends nothing to another AS ("bgp ebgp-requires-policy")')
    return verdicts.ok(check, f'{prefix} with the route distinguisher {rd} '
                              f'to {", ".join(sent[:_NAMED])}')


def _hops(facts: known.Facts) -> diagnosis.Finding:
    check, bridge = 'vni-next-hops', evpn_names.bridge(facts.subject.vni)
    of_vni = [each for each in _vni(facts).hops
              if each.vni == facts.subject.vni]
    lost = [each for each in of_vni if each.lacks]
    if lost:
        return verdicts.broken(
            check, 'packets are lost that ' + ', '.join(
                f'{bridge} sends to {each.via} (no {each.lacks})'
                for each in lost[:_NAMED]), repair(bridge))
    return verdicts.ok(check, ', '.join(
        each.via for each in of_vni[:_NAMED]) or
        'no other node announces anything in the VNI')


def repair(bridge: str) -> str:
    """The remedy for a VNI whose neighbours zebra has lost."""
    # After 0.05 s, zebra 8.4 may make them first, and then remove them.
    return (f'"ip link set {bridge} down", "sleep 1", "ip link set {bridge} '
            'up": zebra makes them again; for about 2 s, this node announces '
            'nothing in the VNI')


def _back(facts: known.Facts) -> diagnosis.Finding:
    """The finding about a reply of the machine."""
    check, client = 'vni-way-back', facts.setup.client
    found = facts.kernel.lookups.get('out')
    if found is None:
        return verdicts.broken(check, f'there is no device {facts.device}',
                               verdicts.RESTORE)
    if not found.error:
        return verdicts.ok(check, f'to {client}: {found.text()}')
    text = f'{facts.setup.vrf} has no route to {client}: {found.text()}'
    if client in known.EXAMPLES:
        return verdicts.unchecked(check, text, 'name a host of the tenant '
                                  'with --client')
    return verdicts.broken(
        check, text, 'the PE has to announce its network in the VNI, with '
        'one of the route targets that the VRF imports: "show bgp l2vpn evpn '
        'route type prefix" of vtysh shows what arrives')
