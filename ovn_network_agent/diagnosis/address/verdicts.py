# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Findings in short, and which finding follows from which.  Pure."""

from collections.abc import Callable
from collections.abc import Iterable
import typing

from ovn_network_agent import diagnosis
from ovn_network_agent.diagnosis import readers

if typing.TYPE_CHECKING:
    from ovn_network_agent.diagnosis.address import facts as known
    from ovn_network_agent.diagnosis.address import subject as subjects

Verdict = diagnosis.Verdict

# The remedy for what the agent itself makes.
RESTORE = ('have the agent repair it: "ovn-network-agent-ctl resync"; '
           'without an agent: start it')

#: iproute2 on the rules and tables of each family
IP = {4: 'ip', 6: 'ip -6'}
#: the questions for the MAC of an address
REQUESTS = {4: 'ARP', 6: 'neighbour solicitations'}

_NAT_ROW = 'nat-row'
# OVN hands an ARP request to one router only; nodes of others wait in vain.
_EFFECTS = ('neighbour',)

# For people, the layer of each check, in the order of the path.
LAYERS = {
    'nat-row': 'NAT row in OVN NB',
    'tenant-network': 'network of a tenant',
    'port': 'port in OVN SB',
    'binding': 'chassis of the port',
    'router': 'router',
    'gateway-port': 'gateway port',
    'machine': 'machine',
    'segment': 'provider segment',
    'vni': 'VNI of the network',
    'peering': 'peering of routers',
    'peering-rows': 'rows of the peering',
    'peering-policies': 'policies of the peering',
    'peering-writer': 'writer of peerings',
    'egress': 'egress address',
    'egress-rows': 'rows of the egress address',
    'egress-node': 'egress address on this node',
    'agent': 'agent',
    'wanted': 'wanted by the agent',
    'default-route': 'default route in OVN NB',
    'vni-devices': 'devices of the VNI',
    'vni-port': 'port on the provider bridge',
    'other-flows': 'flows of other programs',
    'mac-tweak-flow': 'MAC-tweak flow',
    'hairpin-flow': 'hairpin flow',
    'bridge-device': 'bridge device',
    'neighbour': 'neighbour on the bridge',
    'vni-gateway': 'gateway in the VRF',
    'vni-neighbour': 'neighbour in the VRF',
    'vni-rules': 'rules of the VRF',
    'vni-route': 'route in the VRF',
    'veth-pair': 'veth pair',
    'policy-rules': 'policy rules',
    'leak-table': 'leak table',
    'kernel-route': 'kernel route',
    'kernel-lookup': 'kernel look-up, way in',
    'packet-filters': 'filters of other programs',
    'frr-daemons': 'daemons of FRR',
    'frr-route': 'route in FRR',
    'vrf-lookup': 'kernel look-up in the VRF',
    'way-back': 'kernel look-up, way back',
    'vrf-default': 'way out of the VRF',
    'prefix-list-zebra': 'prefix list in zebra',
    'prefix-list-bgpd': 'prefix list in bgpd',
    'vni-zebra': 'VNI in zebra',
    'redistribute': 'redistribution into BGP',
    'bgp-neighbours': 'BGP neighbours',
    'advertised': 'advertised to neighbours',
    'evpn-sessions': 'BGP neighbours for EVPN',
    'evpn-route': 'type 5 route',
    'vni-next-hops': 'other ends of tunnels',
    'vni-way-back': 'kernel look-up, way back',
    'vip': 'VIP',
    'vip-address': 'address of the VIP',
    'nft-rules': 'rules of nftables',
    'backends': 'destinations of the VIP',
}

# A failed check of the left says nothing new when one of the right is broken.
CAUSES = {
    'wanted': ('segment', 'gateway-port', 'binding', 'vni'),
    'neighbour': ('other-flows', 'bridge-device', 'gateway-port', 'binding',
                  'segment'),
    'policy-rules': (),
    'leak-table': ('veth-pair',),
    'kernel-route': ('bridge-device', 'policy-rules'),
    # Without a way back to the sender, the kernel may refuse the packet.
    'kernel-lookup': ('bridge-device', 'kernel-route', 'veth-pair',
                      'policy-rules', 'leak-table'),
    'frr-route': ('frr-daemons', 'veth-pair', 'vrf-lookup', 'vip-address'),
    'vrf-lookup': ('veth-pair', 'frr-daemons', 'frr-route', 'policy-rules'),
    # Without a route to the source, the kernel's check of it may fail.
    'way-back': ('bridge-device', 'kernel-route', 'kernel-lookup',
                 'veth-pair', 'policy-rules', 'leak-table'),
    'vrf-default': ('veth-pair', 'frr-daemons', 'bgp-neighbours'),
    'prefix-list-bgpd': ('frr-daemons',),
    'bgp-neighbours': ('frr-daemons',),
    'redistribute': ('frr-daemons', 'frr-route', 'vip-address', 'vni-route'),
    'vni-port': ('vni-devices',),
    'vni-gateway': ('vni-port', 'vni-devices'),
    'vni-neighbour': ('vni-port', 'vni-devices'),
    'vni-route': ('vni-port', 'vni-devices'),
    'vni-zebra': ('vni-devices',),
    'evpn-route': ('vni-devices', 'vni-route', 'vni-zebra', 'redistribute',
                   'evpn-sessions'),
    'vni-next-hops': ('vni-devices',),
    'vni-way-back': ('vni-port', 'vni-devices', 'vni-route', 'vni-zebra',
                     'evpn-sessions'),
    'nft-rules': ('vip',),
    'advertised': ('frr-daemons', 'frr-route', 'vrf-lookup', 'redistribute',
                   'prefix-list-bgpd', 'bgp-neighbours', 'vip-address'),
}


def ok(check: str, evidence: str) -> diagnosis.Finding:
    """A finding that the layer is as it has to be."""
    return diagnosis.Finding(check, LAYERS[check], Verdict.OK, evidence)


def warn(check: str, evidence: str, remedy: str) -> diagnosis.Finding:
    """A finding of a layer that may harm."""
    return diagnosis.Finding(check, LAYERS[check], Verdict.WARN, evidence,
                             remedy)


def broken(check: str, evidence: str, remedy: str) -> diagnosis.Finding:
    """A finding of a layer that does not do its work."""
    return diagnosis.Finding(check, LAYERS[check], Verdict.BROKEN, evidence,
                             remedy)


def problem(check: str, text: str) -> diagnosis.Finding:
    """A driver's problem: fault, and after the last semicolon the remedy."""
    fault, _semicolon, remedy = text.rpartition('; ')
    return broken(check, fault or text, remedy if fault else (
        'who made the row has to change what this line names; then '
        '"ovn-network-agent-ctl resync"'))


def unchecked(check: str, evidence: str, remedy: str = ''
              ) -> diagnosis.Finding:
    """A finding of a layer that was not looked at."""
    return diagnosis.Finding(check, LAYERS[check], Verdict.NOT_CHECKED,
                             evidence, remedy)


def unread(check: str, fact: object) -> diagnosis.Finding | None:
    """The finding for a fact that could not be read, else None."""
    if isinstance(fact, readers.Unread):
        return unchecked(check, str(fact))
    return None


def read(check: str, judge: Callable[['known.Facts'], diagnosis.Finding],
         facts: 'known.Facts', *parts: object) -> diagnosis.Finding:
    """A finding, or the one about a part that could not be read."""
    return next(filter(None, (unread(check, part) for part in parts)),
                None) or judge(facts)


def settled(findings: Iterable[diagnosis.Finding]) -> list[diagnosis.Finding]:
    """Findings in the order of the path, of which only causes are broken.

    What follows from a broken cause is NOT CHECKED, and names the cause.
    """
    found = []
    broken_: dict[str, str] = {}
    masked: dict[str, str] = {}
    for each in findings:
        cause = next((broken_.get(name) or masked.get(name)
                      for name in CAUSES.get(each.check, ())
                      if name in broken_ or name in masked), None)
        if each.verdict is Verdict.BROKEN and cause:
            masked[each.check] = cause
            each = each._replace(
                verdict=Verdict.NOT_CHECKED, remedy='',
                evidence=f'{each.evidence} (follows from: {cause})')
        elif each.verdict is Verdict.BROKEN:
            broken_[each.check] = each.layer
        found.append(each)
    return found


def first_broken(findings: Iterable[diagnosis.Finding]
                 ) -> diagnosis.Finding | None:
    """The first broken finding."""
    return next((each for each in findings
                 if each.verdict is Verdict.BROKEN), None)


def several_claims(subject: 'subjects.Subject') -> diagnosis.Finding:
    """The finding about an address that several routers have."""
    portless = [each for each in subject.claims if each.portless]
    rows = [each for each in subject.claims if each.type]
    remedy = ('let one router have the address, in Neutron if Neutron knows '
              'several')
    if len(portless) == 1:
        remedy += ('; the row without a port is probably left over, and '
                   f'"{portless[0].removal(subject.address)}" removes the row')
    elif rows:
        commands = ' or '.join(f'"{each.removal(subject.address)}"'
                               for each in rows)
        remedy += f'; {commands} removes the row of that router'
    return warn(
        _NAT_ROW, f'{len(subject.claims)} routers have the address: '
        f'{"; ".join(each.text() for each in subject.claims)}', remedy)


def claims_settled(subject: 'subjects.Subject',
                   findings: list[diagnosis.Finding]
                   ) -> list[diagnosis.Finding]:
    """Name several routers as the cause of what follows from them.

    The address may work through one of them, so they are a warning until an
    effect on this node is seen.  The findings are in the order of the path.
    """
    effects = [each for each in findings if each.check in _EFFECTS and
               each.verdict is Verdict.BROKEN]
    if len(subject.claims) < 2 or not effects:
        return findings
    return [_follows(each) if each in effects else _cause(each)
            for each in findings]


def _follows(finding: diagnosis.Finding) -> diagnosis.Finding:
    return finding._replace(
        verdict=Verdict.NOT_CHECKED, remedy='',
        evidence=f'{finding.evidence} (follows from: '
        f'{LAYERS[_NAT_ROW]})')


def _cause(finding: diagnosis.Finding) -> diagnosis.Finding:
    if finding.check != _NAT_ROW:
        return finding
    return finding._replace(verdict=Verdict.BROKEN)
