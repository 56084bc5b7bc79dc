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

"""Lines of a VNI: the BGP instance of its VRF, and the line in the VRF.  Pure.

An instance is the agent's as long as it has one of two odd timers, which have
no use without neighbours.  So a lost line is no lost mark.

FRR 8 has traps (:doc:`adr/0043-evpn`), and nothing here may step into them:

* the line ``vni`` comes last.  With the instance after it, the neighbours of
  some VNIs were missing for good.
* ``route-target both`` is never written: bgpd ends at the removal.
* Route targets and the like do not change while the VNI is up.
"""

import re
import typing

from ovn_network_agent import evpn_names
from ovn_network_agent import iptext
from ovn_network_agent import ownership
from ovn_network_agent.frr import output
from ovn_network_agent.frr import setup

_KEEPALIVE, _HOLD = ownership.EVPN_TIMERS
# The address families in the order of FRR; '' is the instance itself.
_TOP, _IPV4, _IPV6, _EVPN = '', 'ipv4 unicast', 'ipv6 unicast', 'l2vpn evpn'
_CONTEXTS = (_TOP, _IPV4, _IPV6, _EVPN)
_MARKS = ((_TOP, f'timers bgp {_KEEPALIVE:d} {_HOLD:d}'),
          (_TOP, f'coalesce-time {ownership.EVPN_COALESCE:d}'))
_FIXED = (*_MARKS, (_IPV4, 'redistribute kernel'),
          (_IPV6, 'redistribute kernel'), (_EVPN, 'advertise ipv4 unicast'),
          (_EVPN, 'advertise ipv6 unicast'))
_ROUTER_ID, _RD = 'bgp router-id ', 'rd '
_IMPORT, _EXPORT = 'route-target import ', 'route-target export '
# Lines of the families that change what is announced or imported.  Others,
# such as maximum-paths, are the operator's business.
_WATCHED = re.compile(
    r'(?:redistribute|network|aggregate-address|import|export|rd|rt|'
    r'route-map|route-target|advertise|default-originate) .*')
# FRR has no form with "no" for what follows.
_ADVERTISED = re.compile(r'advertise ipv[46] unicast')
# A change of these lines while the VNI is up leaves receivers of FRR 8, or
# this node, without neighbours for good.
_IDENTITY = (_ROUTER_ID, _RD, 'route-target ')
# FRR 8 does not write the former route distinguisher of an instance again,
# unless it has had another one in between.
_OTHER_RD = _RD + '0:0'
_NUMBER = re.compile(r'[0-9]{1,10}')
_SHORT, _LONG = 1 << 16, 1 << 32


class Wanted(typing.NamedTuple):
    """The fields of a resources.EvpnInstance."""

    vni: int
    asn: int
    router_id: str
    rd: str
    imports: typing.Sequence
    exports: typing.Sequence


class Found(typing.NamedTuple):
    """What FRR has for a VNI.

    :ivar asn: AS number of the BGP instance as FRR shows it, '' without one
    :ivar of_bgp: (address family, line) of the instance, a tuple
    :ivar of_vrf: lines of the VRF, a tuple; None without a section
    :ivar elsewhere: name of another VRF that has the VNI, or ''
    """

    asn: str = ''
    of_bgp: tuple = ()
    of_vrf: tuple | None = None
    elsewhere: str = ''

    @property
    def ours(self):
        """Whether the BGP instance has a mark of the agent."""
        return not set(_MARKS).isdisjoint(self.of_bgp)

    def values(self, start):
        """The rest of the lines that begin with a text, a sorted list."""
        return sorted(line.removeprefix(start) for _where, line in self.of_bgp
                      if line.startswith(start))

    def has_vni(self, vni):
        """Whether exactly the VNI's own line is in its VRF."""
        return self.vnis == [f'vni {vni:d}']

    @property
    def vnis(self):
        """The lines about VNIs in the VRF, a list."""
        return [line for line in self.of_vrf or () if line.startswith('vni ')]

    @property
    def rest(self):
        """Whether the VRF has nothing but maybe a VNI.

        FRR 10 shows an empty section, which goes after its device.
        """
        return self.of_vrf is not None and len(self.of_vrf) == len(self.vnis)


def read(configuration):
    """What FRR has of each VNI that there are names of.

    :param configuration: lines of the running configuration
    :returns: dict of VNI to :class:`Found`
    """
    instances, vrfs = _sections(configuration)
    holders = {vni: name for name, held in vrfs.items()
               for line in held if (vni := _vni(line))}
    names = {vni: evpn_names.vrf(vni) for vni in (
        *map(evpn_names.vni_of_vrf, (*instances, *vrfs)), *holders) if vni}
    return {vni: Found(
        *instances.get(name, ('', ())), vrfs.get(name),
        holder if (holder := holders.get(vni, name)) != name else '')
        for vni, name in names.items()}


def _vni(line):
    """The VNI of a line of a VRF, 0 for another line."""
    words = line.split()
    return evpn_names.vni(words[1]) if words[0] == 'vni' and words[1:] else 0


def _sections(configuration):
    """BGP instances and VRFs.

    :returns: dict of VRF to (AS number, tuple of (family, line)); and dict of
        VRF to tuple of lines, 'default' for those outside of all sections
    """
    instances, vrfs = {}, {}
    section, family = None, _TOP
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


def _begin(words, instances, vrfs):
    """The place for the lines of a section, None for another section.

    mgmtd, zebra and bgpd may each show a section.
    """
    match words:
        case ['router', 'bgp', asn, 'vrf', name, *_more]:
            return instances.setdefault(name, (asn, {}))[1]
        case ['vrf', name]:
            return vrfs.setdefault(name, {})
        case ['vni', *_number]:
            vrfs.setdefault('default', {})[_TOP, ' '.join(words)] = None
    return None


def value(vni, found):
    """What FRR has of the agent, as the fields of a wanted instance.

    :param vni: number
    :param found: :class:`Found`
    :returns: (:class:`Wanted`, whether nothing is missing or in the way);
        None when nothing is the agent's.  Without a BGP instance, it is
        whatever FRR has left of the VRF, with 0 for the AS number
    """
    if not found.ours:
        rest = not found.asn and found.rest and (
            not found.vnis or found.has_vni(vni))
        return (Wanted(vni, 0, '', '', (), ()), False) if rest else None
    shown = Wanted(
        vni, as_number(found.asn), ''.join(found.values(_ROUTER_ID)),
        ''.join(found.values(_RD)), found.values(_IMPORT),
        found.values(_EXPORT))
    complete = found.has_vni(vni) and not any(_difference(
        (*_FIXED, *_of_values(shown)), found))
    return shown, complete


def as_number(text):
    """An AS number as FRR shows it, also "1.10".

    :returns: int, 0 for another text
    """
    high, dot, low = text.partition('.')
    parts = [high, low] if dot else ['0', high]
    if not all(map(_NUMBER.fullmatch, parts)):
        return 0
    return int(parts[0]) << 16 | int(parts[1]) if dot else int(high)


def underlay(configuration, vrf):
    """AS number of the instance that has the sessions.

    :param configuration: lines of the running configuration
    :param vrf: name of its VRF, '' for the default VRF
    :returns: int, 0 without an instance
    """
    return as_number(setup.bgp_instance(configuration, vrf)[0])


def _of_values(wanted):
    return ([(_TOP, _ROUTER_ID + wanted.router_id)] * bool(wanted.router_id) +
            [(_EVPN, _RD + wanted.rd)] * bool(wanted.rd) +
            [(_EVPN, _IMPORT + target) for target in wanted.imports] +
            [(_EVPN, _EXPORT + target) for target in wanted.exports])


def _difference(wanted, found):
    """What is in the way of some lines, and what of them is missing.

    :returns: (list of (family, line), list of (family, line))
    """
    return ([each for each in found.of_bgp if each not in wanted and
             each[0] in _CONTEXTS[1:] and _WATCHED.fullmatch(each[1])],
            [each for each in wanted if each not in found.of_bgp])


class Steps(typing.NamedTuple):
    """Lines of calls of vtysh, one after the other.

    :ivar down: take the VNI out of FRR
    :ivar change: the BGP instance
    :ivar up: put the VNI into FRR, or remove what is left of its VRF
    :ivar settle: whether withdrawals have to arrive before the change
    """

    down: list
    change: list
    up: list
    settle: bool = False


def check(wanted):
    """Check what becomes a part of lines.

    :param wanted: :class:`Wanted`
    :raises ValueError: when something is no number, address, or target
    """
    check_vni(wanted.vni)
    if type(wanted.asn) is not int or not 0 <= wanted.asn < _LONG:
        raise ValueError(f'{wanted.asn!r} is no AS number')
    if not isinstance(wanted.router_id, str) or iptext.address(
            wanted.router_id).version != 4:
        raise ValueError(f'{wanted.router_id!r} is no router ID')
    for text in ([wanted.rd] if wanted.rd else []), wanted.imports, (
            wanted.exports):
        for each in text:
            _check_target(each)


def check_vni(vni):
    """Check the number of a VNI.

    :raises ValueError: when it is none
    """
    if type(vni) is not int or vni not in evpn_names.VNIS:
        raise ValueError(f'{vni!r} is no VNI')


def _check_target(text):
    """Check a route distinguisher or target as FRR shows it (RFC 4364, 4.2).

    :raises ValueError: when it is none
    """
    if isinstance(text, str):
        administrator, _colon, number = text.partition(':')
        if '.' in administrator:
            limit = _SHORT if iptext.address(
                administrator).version == 4 else 0
        else:
            limit = _limit(administrator)
        if _usual(number) and int(number) < limit:
            return
    raise ValueError(f'{text!r} is neither AS:NUMBER nor ADDRESS:NUMBER')


def _limit(asn):
    """The number of a target is less than this, by its AS number."""
    if not _usual(asn) or int(asn) >= _LONG:
        return 0
    return _LONG if int(asn) < _SHORT else _SHORT


def _usual(text):
    return _NUMBER.fullmatch(text) and str(int(text)) == text


def added(wanted, found):
    """The steps to a wanted instance.

    :param wanted: :class:`Wanted` with an AS number
    :param found: :class:`Found`
    :returns: :class:`Steps`
    :raises ValueError: as :func:`check`, and when an object of somebody else
        is in the way
    """
    check(wanted)
    vrf = evpn_names.vrf(wanted.vni)
    _check_others(wanted.vni, vrf, found)
    change, asn, present = [], found.asn or f'{wanted.asn:d}', found
    if as_number(asn) != wanted.asn:
        change.append(f'no router bgp {asn} vrf {vrf}')
        asn, present = f'{wanted.asn:d}', Found()
    undone, missing = _difference((*_FIXED, *_of_values(wanted)), present)
    if undone or missing:
        if present.asn and wanted.rd and not present.values(_RD):
            missing.insert(0, (_EVPN, _OTHER_RD))
        change += [f'router bgp {asn} vrf {vrf}', *_changed(undone, missing),
                   'exit']
    settle = bool(found.vnis) and (not found.has_vni(wanted.vni) or any(
        line.startswith(_IDENTITY) for _family, line in (*undone, *missing)))
    return Steps(_without(vrf, wanted.vni) if settle else [], change,
                 [f'vrf {vrf}', f'vni {wanted.vni:d}', 'exit-vrf']
                 if settle or not found.vnis else [], settle)


def _changed(undone, missing):
    """Lines inside of an instance, each in its family; the marks first."""
    for family in _CONTEXTS:
        inside = [*(_undone(line) for where, line in undone
                    if where == family),
                  *(line for where, line in missing if where == family)]
        if not inside or not family:
            yield from inside
        else:
            yield f'address-family {family}'
            yield from inside
            yield 'exit-address-family'


def _undone(line):
    advertised = _ADVERTISED.match(line)
    return 'no ' + (advertised[0] if advertised else line)


def _without(vrf, vni):
    return [f'vrf {vrf}', f'no vni {vni:d}', 'exit-vrf']


def _check_others(vni, vrf, found):
    """Refuse to touch what somebody else has.

    :raises ValueError: with the section and the remedy
    """
    if found.asn and not found.ours:
        section = f'router bgp {found.asn} vrf {vrf}'
        raise ValueError(
            f'FRR has "{section}", which is not ours (it lacks '
            f'"{_MARKS[0][1]}"); remove it in vtysh with "configure '
            f'terminal", "vrf {vrf}", "no vni {vni:d}", "exit-vrf", '
            f'"no {section}", or give the network another VNI')
    others = [line for line in found.vnis if _vni(line) != vni]
    if others:
        raise ValueError(
            f'FRR has "{others[0]}" in "vrf {vrf}", which is not ours; remove '
            f'it in vtysh with "configure terminal", "vrf {vrf}", '
            f'"no {others[0]}"')
    if found.elsewhere:
        line = f'vrf {found.elsewhere}'
        raise ValueError(
            f'FRR has "vni {vni:d}" in "{line}", which is not ours; remove it '
            f'in vtysh with "configure terminal", "{line}", '
            f'"no vni {vni:d}", or give the network another VNI')


def removed(vni, found):
    """The steps that remove an instance of the agent, and its VNI.

    :param vni: number
    :param found: :class:`Found`
    :returns: :class:`Steps`
    :raises ValueError: as :func:`check_vni`
    """
    check_vni(vni)
    if value(vni, found) is None:
        return Steps([], [], [])
    vrf = evpn_names.vrf(vni)
    return Steps(
        _without(vrf, vni) if vni in map(_vni, found.vnis) else [],
        [f'no router bgp {found.asn} vrf {vrf}'] if found.asn else [],
        [f'no vrf {vrf}'] if found.of_vrf == () else [])


def lacks(configuration, vrf):
    """What the operator's own instance lacks, each with the lines to add.

    :param configuration: lines of the running configuration
    :param vrf: name of its VRF, '' for the default VRF
    :returns: list of str
    """
    asn, section = setup.bgp_instance(configuration, vrf)
    instance = f'router bgp {asn or "ASN"}' + (f' vrf {vrf}' if vrf else '')
    if not asn:
        where = f'VRF {vrf}' if vrf else 'the default VRF'
        return [f'FRR: there is no BGP instance for {where}, so no VNI is '
                f'announced; add "{instance}" with its neighbours, and in '
                '"address-family l2vpn evpn" the lines "neighbor ADDRESS '
                'activate" and "advertise-all-vni"']
    begin = f'"{instance}" / "address-family {_EVPN}" / "'
    there, family = set(), ''
    for words in map(str.split, section):
        if words[0] in ('address-family', 'exit-address-family'):
            family = ' '.join(words[1:])
        elif family == _EVPN:
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


def states(text):
    """The VNIs of VRFs.

    :param text: output of 'show vrf vni json'
    :returns: list of :class:`State`
    :raises output.Unreadable: when the text is something else
    """
    try:
        return [State(each['vni'], each['vrf'], each['state'] == 'Up',
                      each['routerMac'])
                for document in output.json_documents(text)
                for each in document.get('vrfs', ())]
    except (KeyError, TypeError) as error:
        raise output.Unreadable(f'VNIs in JSON of FRR: {error!r}') from error
