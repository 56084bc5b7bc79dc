# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of what the kernel has for an address.  Pure."""

from collections.abc import Iterable
import operator

from ovn_network_agent import diagnosis
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import forwarding
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import kernel
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import rules as kernel_rules
from ovn_network_agent.nft import filters

_CHECK = 'packet-filters'
# How a chain of the other family begins.
_OF_OTHERS = {4: 'ip6 ', 6: 'ip '}


def judge(facts: facts.Facts) -> list[diagnosis.Finding]:
    """The findings from the bridge to the route of an address, in order."""
    checks = {'bridge-device': bridge, 'neighbour': neighbour}
    if facts.setup.pair:
        checks |= {'veth-pair': pair, 'policy-rules': rules,
                   'leak-table': leak_table}
    elif facts.subject.wanted_of(resources.Rule):
        checks['policy-rules'] = rules
    checks['kernel-route'] = forwarding.route
    if facts.setup.pair:
        checks['kernel-lookup'] = forwarding.way_in
    return [verdicts.unread(check, facts.kernel) or function(facts)
            for check, function in checks.items()]


def bridge(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the bridge's device, its address and sysctls."""
    kernel, name = facts.kernel, facts.device
    link = kernel.links.get(name)
    if link is None:
        return verdicts.broken('bridge-device', f'there is no device {name}',
                               f'"ovs-vsctl add-br {name}"'
                               if name in facts.setup.bridges
                               else verdicts.RESTORE)
    faults = [] if link.up else [f'{name} is down']
    faults += addresses_lack(facts, name) + sysctls_differ(facts, name)
    faults += proxies_lack(facts, name)
    if faults:
        return verdicts.broken(
            'bridge-device', '; '.join(faults),
            verdicts.RESTORE if link.up else f'"ip link set {name} up"')
    return verdicts.ok(
        'bridge-device', f'{name} is up, {link.mac}, '
        f'{", ".join(kernel.addresses.get(name, ())) or "no address"}')


def addresses_lack(facts: facts.Facts, device: str) -> list[str]:
    """The addresses that a device lacks."""
    there = facts.kernel.addresses.get(device, ())
    return [f'{device} has no address {each.address}'
            for each in facts.subject.wanted_of(resources.Address)
            if each.dev == device and each.address not in there]


def sysctls_differ(facts: facts.Facts, device: str) -> list[str]:
    """The sysctls of a device that differ."""
    there = facts.kernel.sysctls
    return [f'{each.path} is {there.get(each.path) or "missing"} and not '
            f'{each.value}'
            for each in facts.subject.wanted_of(resources.Sysctl)
            if device in each.path.split('/') and
            there.get(each.path) != each.value]


def proxies_lack(facts: facts.Facts, device: str) -> list[str]:
    """The addresses that the kernel does not answer for."""
    return [f'{device} does not answer for {each.dst}, the gateway of '
            'machines' for each in facts.subject.wanted_of(
                resources.NeighbourProxy)
            if (each.dev, each.dst) not in facts.kernel.proxies]


def neighbour(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the neighbour entry of the address."""
    subject = facts.subject
    device = subjects.certain(subject.segment).device
    found = facts.kernel.neighbours.get((device, subject.nexthop))
    permanent = any(each.dst == subject.nexthop for each
                    in subject.wanted_of(resources.Neighbour))
    if permanent and (found is None or found[1] != 'PERMANENT'):
        return verdicts.broken(
            'neighbour', f'{device} has no permanent neighbour '
            f'{subject.nexthop}, and OVN does not answer for it there',
            verdicts.RESTORE)
    if found is None:
        return verdicts.ok('neighbour', f'{device} has not asked for '
                                        f'{subject.nexthop} lately')
    mac, state = found
    if state == 'FAILED':
        return verdicts.broken(
            'neighbour', f'nobody answers {verdicts.REQUESTS[facts.version]} '
            f'for {subject.nexthop} on {device}',
            f'machine {subject.binding.name} should answer: look whether it '
            'runs and has the address, and at its security groups'
            if subject.binding else 'OVN should answer: look '
            'at ovn-controller, at its patch port and at "ovn-sbctl '
            'lflow-list"')
    if state == 'INCOMPLETE':
        return verdicts.warn('neighbour', f'{device} asks for '
                             f'{subject.nexthop} right now', 'ask again')
    if mac and subject.mac and mac != subject.mac:
        return verdicts.warn(
            'neighbour', f'{mac} ({state}) and not {subject.mac} of OVN',
            f'"ip neigh del {subject.nexthop} dev {device}", and '
            'look for another owner of the address')
    return verdicts.ok('neighbour', f'{mac} on {device} ({state})')


def pair(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the veth pair and its addresses."""
    kernel, setup = facts.kernel, facts.setup
    faults = _ends(kernel.links, setup.vrf)
    if not faults:
        for end in ownership.VETH_ENDS:
            faults += addresses_lack(facts, end) + sysctls_differ(facts, end)
        faults += _neighbours_differ(facts)
    if faults:
        return verdicts.broken('veth-pair', '; '.join(faults),
                               verdicts.RESTORE)
    return verdicts.ok('veth-pair', ' - '.join(
        f'{end} {", ".join(_of(facts.version, kernel.addresses[end]))}'
        for end in ownership.VETH_ENDS) + f' in {setup.vrf}')


def _ends(links: dict[str, links.Link], vrf: str) -> list[str]:
    lacking = [f'there is no device {name}'
               for name in (*ownership.VETH_ENDS, vrf) if name not in links]
    if lacking:
        return lacking
    faults = [f'{name} is down' for name in (*ownership.VETH_ENDS, vrf)
              if not links[name].up]
    default, provider = (links[name] for name in ownership.VETH_ENDS)
    if default.lower != provider.index or provider.lower != default.index:
        faults.append(f'{default.name} and {provider.name} are no pair')
    if provider.master != links[vrf].index:
        faults.append(f'{provider.name} is not in {vrf}')
    return faults


def _neighbours_differ(facts: facts.Facts) -> list[str]:
    links, there = facts.kernel.links, facts.kernel.neighbours
    return [f'{each.dev} has no permanent neighbour {each.dst}'
            for each in facts.subject.wanted_of(resources.Neighbour)
            if each.dev in ownership.VETH_ENDS and
            there.get((each.dev, each.dst)) != (
                each.lladdr or links[each.lladdr_of].mac, 'PERMANENT')]


def _of(version: int, addresses: Iterable[str]) -> list[str]:
    return [address for address in addresses
            if networks.family(address) == version]


def rules(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the policy rules for the address' network."""
    wanted = facts.subject.wanted_of(resources.Rule)
    if not wanted:
        return verdicts.unchecked('policy-rules', 'none is wanted')
    lacking = rules_lacking(facts)
    if lacking:
        return verdicts.broken(
            'policy-rules', 'there is no rule ' + '; '.join(
                map(rule_text, lacking)), verdicts.RESTORE)
    other = _deciding(facts, wanted)
    if other:
        return verdicts.broken(
            'policy-rules', f'a rule of another program decides about '
            f'{facts.subject.address} first: priority {other.priority} to '
            f'{other.dst}',
            f'look at "{verdicts.IP[facts.version]} rule show priority '
            f'{other.priority}"; "{verdicts.IP[facts.version]} rule del '
            f'priority {other.priority} to {other.dst}" removes the rule')
    return verdicts.ok('policy-rules', f'all {len(wanted)} are there, of '
                       'priority ' + ', '.join(sorted(
                           {str(each.priority) for each in wanted}, key=int)))


def rules_lacking(facts: facts.Facts) -> list[resources.Rule]:
    """The wanted rules that are not there."""
    there = {rule.selector for rule in facts.kernel.rules}
    return [each for each in facts.subject.wanted_of(resources.Rule,
                                                     resources.VniRule)
            if (each.priority, each.table, each.src, each.dst, each.iif,
                each.fwmark, each.suppress, each.ipv6) not in there]


def _deciding(facts: facts.Facts, wanted: Iterable[resources.Rule]
              ) -> kernel_rules.Rule | None:
    """The foreign rule that leads the address astray, None while none does."""
    found = facts.kernel.lookups.get('here')
    if found is None or found.local or found.dst == facts.subject.prefix:
        return None
    address = ip_text.address(facts.subject.address)
    ours = {each.priority for each in wanted}
    return min((rule for rule in facts.kernel.towards
                if rule.priority not in ours and
                rule.dst and address in ip_text.network(rule.dst)),
               default=None, key=operator.attrgetter('priority'))


def rule_text(rule: resources.Rule) -> str:
    """A rule in the manner of ip-rule(8)."""
    parts = [f'{rule.priority}:', f'from {rule.src or "all"}']
    parts += [f'to {rule.dst}'] if rule.dst else []
    if rule.fwmark is not None:
        mark, mask = rule.fwmark
        parts += [f'fwmark {mark:#x}/{mask:#x}']
    parts += [f'iif {rule.iif}'] if rule.iif else []
    parts += [f'lookup {rule.table}' if rule.table else 'blackhole']
    if rule.suppress is not None:
        parts.append(f'suppress_prefixlength {rule.suppress}')
    return ' '.join(parts)


def leak_table(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the default routes of the agent's tables."""
    there = facts.kernel.routes
    wanted = [each for each in facts.subject.wanted_of(resources.KernelRoute)
              if each.table in there and not each.subject]
    if not wanted:
        return verdicts.unchecked('leak-table', 'none is wanted')
    lacking = [each for each in wanted if not any(
        (found.dst, found.dev, found.via) == (each.dst, each.dev, each.via)
        for found in there[each.table])]
    if lacking:
        return verdicts.broken(
            'leak-table', '; '.join(
                f'table {each.table} has no default route via {each.via} dev '
                f'{each.dev}' for each in lacking), verdicts.RESTORE)
    return verdicts.ok('leak-table', '; '.join(
        f'table {each.table}: default via {each.via} dev {each.dev}'
        for each in wanted))


def judge_filters(facts: facts.Facts) -> diagnosis.Finding:
    """The finding."""
    unread = verdicts.unread(_CHECK, facts.filters)
    if unread:
        return unread
    address = ip_text.address(facts.subject.address)
    naming = [one for one in facts.filters.filters if one.covers(address)]
    if not naming:
        return verdicts.ok(_CHECK, _unnamed(facts.filters, address.version))
    certain = [one for one in naming if one.certain]
    what, show = kernel.culprit((certain or naming)[0])
    more = f', and {len(naming) - 1:d} more' if len(naming) > 1 else ''
    say = verdicts.broken if certain else verdicts.warn
    return say(_CHECK, f'{what} drops {"" if certain else "some "}packets of '
               f'{facts.subject.address}{more}',
               f'look at "{show}", and have its program except the address')


def _unnamed(found: filters.Found, version: int) -> str:
    closed = ', '.join(
        f'"{chain}"' for chain in found.closed
        if not chain.startswith(_OF_OTHERS[version]))
    return 'no rule in nftables drops by this address' + (
        f'; {closed} drops what its rules do not accept' if closed else '')
