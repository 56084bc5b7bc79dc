# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of what FRR has for an address.  Pure."""

from collections.abc import Iterable
from collections.abc import Iterator

from ovn_network_agent import diagnosis
from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import forwarding
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.frr import prefix_list_lines
from ovn_network_agent.frr import setup as setups

_ESTABLISHED = 'Established'
# The end of the state of a session that FRR's configuration has shut down.
_SHUT = '(Admin)'
# The most neighbours that one finding names.
_NAMED = 5
_VTYSH = 'in "configure terminal" of vtysh'


def judge(facts: facts.Facts) -> list[diagnosis.Finding]:
    """The findings from FRR's route to the neighbours, in order."""
    found = [*_daemons(facts), *_routes(facts)]
    if facts.setup.prefix_list:
        found += [verdicts.unread(f'prefix-list-{daemon}', facts.lists) or
                  prefix_list(facts, daemon) for daemon in ('zebra', 'bgpd')]
    if facts.setup.bgp:
        found += [
            redistributed(facts),
            verdicts.read('bgp-neighbours', neighbours, facts,
                          facts.neighbours),
            verdicts.read('advertised', _advertised, facts, facts.path,
                          facts.neighbours)]
    return found


def _daemons(facts: facts.Facts) -> Iterator[diagnosis.Finding]:
    """The daemons that do not run; what they lack follows from that."""
    missing = facts.missing_daemons
    if missing and not isinstance(missing, readers.Unread):
        names = ' and '.join(missing)
        yield verdicts.broken(
            'frr-daemons', f'{names} of FRR does not run',
            f'set {names} to "yes" in /etc/frr/daemons, "systemctl restart '
            'frr", and look into the log of FRR')


def _routes(facts: facts.Facts) -> list[diagnosis.Finding]:
    """The route of zebra and of the kernel, the origin first."""
    of_frr = [verdicts.unread('frr-route', facts.zebra) or route(facts)]
    if not facts.setup.vrf or facts.subject.vip:
        return of_frr
    in_vrf = [verdicts.unread('vrf-lookup', facts.kernel) or
              forwarding.in_vrf(facts)]
    return (of_frr + in_vrf if facts.setup.method == 'static'
            else in_vrf + of_frr)


def protocol(facts: facts.Facts) -> str:
    """The origin of the announced route in FRR's words."""
    announced = facts.subject.announcement
    if announced is None or isinstance(announced, resources.VipAddress):
        return 'connected'
    return facts.setup.method


def _where(facts: facts.Facts) -> str:
    return f'VRF {facts.setup.vrf}' if facts.setup.vrf else 'the default VRF'


def route(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about zebra's route."""
    prefix, origin = facts.subject.prefix, protocol(facts)
    own = [each for each in facts.zebra if each[0] == origin]
    if not own:
        return verdicts.broken(
            'frr-route', f'zebra has no {origin} route {prefix} in '
            f'{_where(facts)}', f'{verdicts.RESTORE}; if the route is '
            'configured ("show running-config"), its next hop is not '
            'reachable')
    _protocol, selected, installed, hops = own[0]
    if not selected:
        winner = next((each[0] for each in facts.zebra if each[1]), 'none')
        return verdicts.broken(
            'frr-route', f'{prefix} via {hops} is not selected by zebra '
            f'(selected: {winner})', 'see that its next hop is reachable, '
            'and that no better route exists')
    if not installed:
        return verdicts.broken(
            'frr-route', f'{prefix} via {hops} is selected, and not '
            'installed in the kernel', 'read the log of zebra')
    return verdicts.ok('frr-route', f'{origin} {prefix} via {hops}, selected '
                                    'and installed')


def prefix_list(facts: facts.Facts, daemon: str) -> diagnosis.Finding:
    """The finding about the prefix list in one daemon."""
    check, name = f'prefix-list-{daemon}', facts.setup.prefix_list
    entries = facts.lists[daemon]
    # zebra filters nothing with the list.
    judged = verdicts.broken if daemon == 'bgpd' else verdicts.warn
    remedy = verdicts.RESTORE
    if not entries:
        return judged(check, f'{daemon} has no entries of {name}', remedy)
    prefix = ip_text.network(facts.subject.prefix)
    decisive = next((entry for entry in sorted(entries)
                     if prefix_list_lines.matches(
                         entry, prefix.network_address, prefix.prefixlen)),
                    None)
    if decisive is None:
        return judged(check, f'no entry of {name} permits '
                             f'{facts.subject.prefix}', remedy)
    text = (f'seq {decisive.sequence} {decisive.action} {decisive.prefix}' +
            (f' ge {decisive.ge}' if decisive.ge else '') +
            (f' le {decisive.le}' if decisive.le else ''))
    if decisive.action != 'permit':
        return judged(
            check, f'{name}: {text}', 'the line is the operator\'s, and the '
            f'agent leaves the line alone; {_VTYSH}, '
            f'"no {setups.WORDS[facts.version]} prefix-list {name} {text}" '
            'removes the line')
    return verdicts.ok(check, f'{name}: {text}')


def redistributed(facts: facts.Facts) -> diagnosis.Finding:
    """The finding whether bgpd has the route from this node."""
    return verdicts.read('redistribute', _redistribute, facts, facts.path)


def _redistribute(facts: facts.Facts) -> diagnosis.Finding:
    check, prefix, origin = ('redistribute', facts.subject.prefix,
                             protocol(facts))
    sourced, best, _advertised_to = facts.path
    if best:
        return verdicts.ok(check, f'bgpd has {prefix} from this node')
    if sourced:
        return verdicts.warn(check, 'bgpd has a better path than that of '
                             'this node', f'"show bgp {prefix}" shows it')
    setup = facts.frr_setup
    if setup is None or isinstance(setup, readers.Unread):
        return verdicts.broken(
            check, f'bgpd does not have {prefix} from this node' +
            (f' ({setup})' if setup else ''),
            f'see that BGP of {_where(facts)} has "redistribute {origin}": '
            '"show running-config bgpd" of vtysh')
    if not setup.asn:
        return verdicts.broken(check, f'no BGP instance in {_where(facts)}',
                               f'configure one; {_VTYSH}, '
                               f'{_instance(facts, "")}')
    if origin not in setup.redistributes:
        return verdicts.broken(
            check, f'BGP of {_where(facts)} does not redistribute {origin} '
            f'routes of IPv{facts.version:d}', f'{_VTYSH}, '
            f'{_instance(facts, setup.asn)} / {_family(facts)} / '
            f'"redistribute {origin}" has BGP take the routes')
    return verdicts.broken(
        check, f'BGP of {_where(facts)} redistributes {origin} routes, but '
        f'not {prefix}', 'the operator of FRR has to let the prefix pass the '
        'route map of the redistribution: "show running-config bgpd" of '
        'vtysh')


def neighbours(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the BGP sessions."""
    down = [each for each in facts.neighbours if each.state != _ESTABLISHED]
    text = ', '.join(f'{each.name} {each.state}' for each in
                     (down or facts.neighbours)[:_NAMED])
    vrf = f'vrf {facts.setup.vrf} ' if facts.setup.vrf else ''
    remedy = (f'"show bgp {vrf}ipv{facts.version:d} unicast summary" and the '
              'log of bgpd say why')
    shut = [each.name for each in down if each.state.endswith(_SHUT)]
    if shut:
        asn = facts.neighbours[0].asn
        remedy = (f'somebody has shut the neighbour down; {_VTYSH}, '
                  f'{_instance(facts, asn)} / "no neighbor {shut[0]} '
                  'shutdown" ends the shutdown')
    if not facts.neighbours:
        return verdicts.broken(
            'bgp-neighbours', f'BGP of {_where(facts)} has no neighbours for '
            f'routes of IPv{facts.version:d}', 'the operator of FRR has to '
            f'configure them, and to activate them; {_VTYSH}, '
            f'{_instance(facts, "")} / {_family(facts)} / "neighbor ADDRESS '
            'activate"')
    if len(down) == len(facts.neighbours):
        return verdicts.broken('bgp-neighbours', text, remedy)
    if down:
        return verdicts.warn('bgp-neighbours', text, remedy)
    return verdicts.ok('bgp-neighbours', text)


def _instance(facts: facts.Facts, asn: str) -> str:
    """The line of FRR that configures the BGP instance, in quotes."""
    vrf = f' vrf {facts.setup.vrf}' if facts.setup.vrf else ''
    return f'"router bgp {asn or "ASN"}{vrf}"'


def _family(facts: facts.Facts) -> str:
    return f'"address-family ipv{facts.version:d} unicast"'


def _advertised(facts: facts.Facts) -> diagnosis.Finding:
    """The finding whether each established neighbour gets the address."""
    check = 'advertised'
    sent = set(facts.path[2])
    up = [each for each in facts.neighbours if each.state == _ESTABLISHED]
    without = [each for each in up if each.name not in sent]
    if not up or len(without) == len(up):
        return verdicts.broken(
            check, 'to no neighbour' + _why(without),
            _outbound(facts))
    evidence = f'to {", ".join(sorted(sent)[:_NAMED])}'
    if without:
        return verdicts.warn(
            check, f'{evidence}; not to ' + ', '.join(
                each.name for each in without[:_NAMED]) + _why(without),
            _outbound(facts))
    return verdicts.ok(check, evidence)


def _outbound(facts: facts.Facts) -> str:
    return ('the operator of FRR has to let '
            f'{facts.subject.prefix} pass the outbound filters of the '
            'neighbours: "show running-config bgpd" of vtysh')


def _why(without: Iterable[frr.Neighbour]) -> str:
    filters = sorted({text for each in without for text in each.filters})
    return f' (outbound: {", ".join(filters)})' if filters else ''
