# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Lines of a VNI: the BGP instance of its VRF, and the line in the VRF.  Pure.

An instance is the agent's while it has one of two odd timers, which have no
use without neighbours: so a lost line is no lost mark.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import itertools
import re
import typing

from ovn_network_agent import ownership
from ovn_network_agent.frr import output
from ovn_network_agent.frr import setup
from ovn_network_agent.model import evpn_names

#: the address family and the text of a line of an instance
Line = tuple[str, str]
_KEEPALIVE, _HOLD = ownership.EVPN_TIMERS
# in the order of FRR; '' is the instance itself
_TOP, _IPV4, _IPV6, L2VPN = '', 'ipv4 unicast', 'ipv6 unicast', 'l2vpn evpn'
FAMILIES = (_TOP, _IPV4, _IPV6, L2VPN)
MARKS = ((_TOP, f'timers bgp {_KEEPALIVE:d} {_HOLD:d}'),
         (_TOP, f'coalesce-time {ownership.EVPN_COALESCE:d}'))
_FIXED = (*MARKS, (_IPV4, 'redistribute kernel'),
          (_IPV6, 'redistribute kernel'), (L2VPN, 'advertise ipv4 unicast'),
          (L2VPN, 'advertise ipv6 unicast'))
ROUTER_ID, RD = 'bgp router-id ', 'rd '
_IMPORT, _EXPORT = 'route-target import ', 'route-target export '
# Lines that change what is announced or imported; others, such as
# maximum-paths, are the operator's business.
_WATCHED = re.compile(
    r'(?:redistribute|network|aggregate-address|import|export|rd|rt|'
    r'route-map|route-target|advertise|default-originate) .*')
_NUMBER = re.compile(r'[0-9]{1,10}')


class Wanted(typing.NamedTuple):
    """The fields of a resources.EvpnInstance."""

    vni: int
    asn: int
    router_id: str
    rd: str
    imports: Sequence[str]
    exports: Sequence[str]


class Found(typing.NamedTuple):
    """What FRR has for a VNI."""

    # AS number of the BGP instance as FRR shows it, '' without one
    asn: str = ''
    of_bgp: tuple[Line, ...] = ()  # the instance
    of_vrf: tuple[str, ...] | None = None  # of the VRF, None without a section
    elsewhere: str = ''  # name of another VRF that has the VNI, or ''

    @property
    def ours(self) -> bool:
        """Whether the BGP instance has a mark of the agent."""
        return not set(MARKS).isdisjoint(self.of_bgp)

    def values(self, start: str) -> list[str]:
        """The rest of the lines that begin with a text, sorted."""
        return sorted(line.removeprefix(start) for _where, line in self.of_bgp
                      if line.startswith(start))

    def has_vni(self, vni: int) -> bool:
        """Whether exactly the VNI's own line is in its VRF."""
        return self.vnis == [f'vni {vni:d}']

    @property
    def vnis(self) -> list[str]:
        """The lines about VNIs in the VRF."""
        return [line for line in self.of_vrf or () if line.startswith('vni ')]

    @property
    def rest(self) -> bool:
        """Whether the VRF has nothing but maybe a VNI.  FRR 10 shows an empty
        section, which goes after its device.
        """
        return self.of_vrf is not None and len(self.of_vrf) == len(self.vnis)


def read(configuration: Sequence[str]) -> dict[int, Found]:
    """What FRR has of each VNI that there are names of."""
    instances, vrfs = _sections(configuration)
    holders = {vni: name for name, held in vrfs.items()
               for line in held if (vni := vni_of(line))}
    names = {vni: evpn_names.vrf(vni) for vni in (
        *map(evpn_names.vni_of_vrf, (*instances, *vrfs)), *holders) if vni}
    return {vni: Found(
        *instances.get(name, ('', ())), vrfs.get(name),
        holder if (holder := holders.get(vni, name)) != name else '')
        for vni, name in names.items()}


def left_interfaces(configuration: Sequence[str],
                    devices: Iterable[str]) -> list[str]:
    """Interfaces of VNIs without a line and a device, sorted; FRR 10 keeps
    them after their router advertisements.
    """
    found: set[str] = set()
    filled: set[str] = set()
    for line, after in itertools.pairwise([*configuration, '']):
        words = line.split()
        if words[:1] == ['interface'] and evpn_names.is_vrf_end(words[-1]):
            (filled if after.startswith(' ') else found).add(words[-1])
    return sorted(found - filled - set(devices))


def vni_of(line: str) -> int:
    """The VNI of a line of a VRF, 0 for another line."""
    words = line.split()
    return evpn_names.vni(words[1]) if words[0] == 'vni' and words[1:] else 0


def _sections(configuration: Sequence[str]
              ) -> tuple[dict[str, tuple[str, tuple[Line, ...]]],
                         dict[str, tuple[str, ...]]]:
    """BGP instances and VRFs.

    :returns: by VRF, AS number and lines; and by VRF its lines, by 'default'
        those outside of all sections
    """
    instances: dict[str, tuple[str, dict[Line, None]]] = {}
    vrfs: dict[str, dict[Line, None]] = {}
    section: dict[Line, None] | None = None
    family = _TOP
    for line in configuration:
        words = line.split()
        if not words or words[0] == '!':
            continue
        if not line.startswith(' '):
            section, family = _begin(words, instances, vrfs), _TOP
        elif section is not None:
            if words[0] == 'address-family':
                family = ' '.join(words[1:])
            elif words[0] == 'exit-address-family':
                family = _TOP
            else:
                section[family, line.strip()] = None
    return ({name: (asn, tuple(held)) for name, (asn, held)
             in instances.items()},
            {name: tuple(line for _family, line in held)
             for name, held in vrfs.items()})


def _begin(words: list[str],
           instances: dict[str, tuple[str, dict[Line, None]]],
           vrfs: dict[str, dict[Line, None]]) -> dict[Line, None] | None:
    """The place for a section's lines; mgmtd, zebra, bgpd may each have one.
    """
    match words:
        case ['router', 'bgp', asn, 'vrf', name, *_more]:
            return instances.setdefault(name, (asn, {}))[1]
        case ['vrf', name]:
            return vrfs.setdefault(name, {})
        case ['vni', *_number]:
            vrfs.setdefault('default', {})[_TOP, ' '.join(words)] = None
    return None


def value(vni: int, found: Found) -> tuple[Wanted, bool | None] | None:
    """What FRR has of the agent, as the fields of a wanted instance.

    :returns: with whether nothing is missing or in the way; None when nothing
        is the agent's.  Without a BGP instance it is what FRR has left of the
        VRF, with AS number 0, and None in place of False for an empty section
    """
    if not found.ours:
        rest = not found.asn and found.rest and (
            not found.vnis or found.has_vni(vni))
        return (Wanted(vni, 0, '', '', (), ()),
                False if found.vnis else None) if rest else None
    shown = Wanted(
        vni, as_number(found.asn), ''.join(found.values(ROUTER_ID)),
        ''.join(found.values(RD)), found.values(_IMPORT),
        found.values(_EXPORT))
    complete = found.has_vni(vni) and not any(difference(
        lines_of(shown), found))
    return shown, complete


def as_number(text: str) -> int:
    """An AS number as FRR shows it, also "1.10"; 0 for another text."""
    high, dot, low = text.partition('.')
    parts = [high, low] if dot else ['0', high]
    if not all(map(_NUMBER.fullmatch, parts)):
        return 0
    return int(parts[0]) << 16 | int(parts[1]) if dot else int(high)


def underlay(configuration: Sequence[str], vrf: str) -> int:
    """AS number of the instance that has the sessions, 0 without one."""
    return as_number(setup.bgp_instance(configuration, vrf)[0])


def lines_of(wanted: Wanted) -> list[Line]:
    """The lines of a wanted instance."""
    return [*_FIXED,
            *[(_TOP, ROUTER_ID + wanted.router_id)] * bool(wanted.router_id),
            *[(L2VPN, RD + wanted.rd)] * bool(wanted.rd),
            *((L2VPN, _IMPORT + target) for target in wanted.imports),
            *((L2VPN, _EXPORT + target) for target in wanted.exports)]


def difference(wanted: Sequence[Line],
               found: Found) -> tuple[list[Line], list[Line]]:
    """What is in the way of some lines, and what of them is missing."""
    return ([each for each in found.of_bgp if each not in wanted and
             each[0] in FAMILIES[1:] and _WATCHED.fullmatch(each[1])],
            [each for each in wanted if each not in found.of_bgp])


def lacks(configuration: Sequence[str], vrf: str) -> list[str]:
    """What the operator's own instance lacks, each with the lines to add."""
    asn, section = setup.bgp_instance(configuration, vrf)
    instance = f'router bgp {asn or "ASN"}' + (f' vrf {vrf}' if vrf else '')
    if not asn:
        where = f'VRF {vrf}' if vrf else 'the default VRF'
        return [f'FRR: there is no BGP instance for {where}, so no VNI is '
                f'announced; add "{instance}" with its neighbours, and in '
                '"address-family l2vpn evpn" the lines "neighbor ADDRESS '
                'activate" and "advertise-all-vni"']
    begin = f'"{instance}" / "address-family {L2VPN}" / "'
    there: set[str] = set()
    family = ''
    for words in map(str.split, section):
        if words[0] in ('address-family', 'exit-address-family'):
            family = ' '.join(words[1:])
        elif family == L2VPN:
            there.add(words[-1])
    return [f'FRR: "{instance}" {what}; add {begin}{line}"'
            for word, what, line in (
                ('advertise-all-vni', 'does not announce VNIs',
                 'advertise-all-vni'),
                ('activate', 'has no neighbour that gets routes of EVPN',
                 'neighbor ADDRESS activate')) if word not in there]


class State(typing.NamedTuple):
    """A VNI that zebra has in a VRF."""

    vni: int
    vrf: str
    up: bool
    router_mac: str


def states(text: str) -> list[State]:
    """The VNIs of 'show vrf vni json'; may raise output.Unreadable."""
    try:
        return [State(each['vni'], each['vrf'], each['state'] == 'Up',
                      each['routerMac'])
                for document in output.json_documents(text)
                for each in document.get('vrfs', ())]
    except (KeyError, TypeError) as error:
        raise output.Unreadable(f'VNIs in JSON of FRR: {error!r}') from error
