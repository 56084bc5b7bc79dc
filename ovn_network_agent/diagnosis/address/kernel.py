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

"""Judges of the kernel's routes and look-ups of an address.  Pure."""

import operator

from ovn_network_agent import iptext
from ovn_network_agent import networks
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.drivers import veth
from ovn_network_agent.frr import setup as setups

# The table of a route that the kernel does not name.
_UNKNOWN = 0


def judge(facts):
    """The findings from the bridge to the route of an address, in order.

    :param facts: :class:`facts.Facts`
    :returns: list of :class:`finding.Finding`
    """
    checks = {'bridge-device': bridge, 'neighbour': neighbour}
    if facts.setup.pair:
        checks |= {'veth-pair': pair, 'policy-rules': rules,
                   'leak-table': leak_table}
    elif facts.subject.wanted_of(resources.Rule):
        checks['policy-rules'] = rules
    checks['kernel-route'] = route
    if facts.setup.pair:
        checks['kernel-lookup'] = way_in
    return [verdicts.unread(check, facts.kernel) or function(facts)
            for check, function in checks.items()]


def way_back(facts):
    """The findings about the way back, in order."""
    checks = {'way-back': back}
    if facts.setup.vrf:
        checks['vrf-default'] = out_of_vrf
    return [verdicts.unread(check, facts.kernel) or function(facts)
            for check, function in checks.items()]


def bridge(facts):
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


def addresses_lack(facts, device):
    """The addresses that a device lacks, a list of texts."""
    there = facts.kernel.addresses.get(device, ())
    return [f'{device} has no address {each.address}'
            for each in facts.subject.wanted_of(resources.Address)
            if each.dev == device and each.address not in there]


def sysctls_differ(facts, device):
    """The sysctls of a device that differ, a list of texts."""
    there = facts.kernel.sysctls
    return [f'{each.path} is {there.get(each.path) or "missing"} and not '
            f'{each.value}'
            for each in facts.subject.wanted_of(resources.Sysctl)
            if device in each.path.split('/') and
            there.get(each.path) != each.value]


def proxies_lack(facts, device):
    """The addresses that the kernel does not answer for, a list of texts."""
    return [f'{device} does not answer for {each.dst}, the gateway of '
            'machines' for each in facts.subject.wanted_of(
                resources.NeighbourProxy)
            if (each.dev, each.dst) not in facts.kernel.proxies]


def neighbour(facts):
    """The finding about the neighbour entry of the address."""
    subject = facts.subject
    device = subject.segment.device
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
            'neighbour', f'nobody answers {verdicts.ASKING[facts.version]} '
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


def pair(facts):
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


def _ends(links, vrf):
    """The faults of the ends of the pair, a list of texts."""
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


def _neighbours_differ(facts):
    links, there = facts.kernel.links, facts.kernel.neighbours
    return [f'{each.dev} has no permanent neighbour {each.dst}'
            for each in facts.subject.wanted_of(resources.Neighbour)
            if each.dev in ownership.VETH_ENDS and
            there.get((each.dev, each.dst)) != (
                each.lladdr or links[each.lladdr_of].mac, 'PERMANENT')]


def _of(version, addresses):
    return [address for address in addresses
            if networks.family(address) == version]


def rules(facts):
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


def rules_lacking(facts):
    """The wanted rules that are not there, a list."""
    there = {rule.selector for rule in facts.kernel.rules}
    return [each for each in facts.subject.wanted_of(resources.Rule,
                                                     resources.VniRule)
            if (each.priority, each.table, each.src, each.dst, each.iif,
                each.fwmark, each.suppress, each.ipv6) not in there]


def _deciding(facts, wanted):
    """The first rule of another program that leads the address astray.

    :param wanted: list of :class:`resources.Rule`
    :returns: :class:`netlink.rules.Rule`, or None while the kernel takes the
        route of the address
    """
    found = facts.kernel.lookups.get('here')
    if found is None or found.local or found.dst == facts.subject.prefix:
        return None
    address = iptext.address(facts.subject.address)
    ours = {each.priority for each in wanted}
    return min((rule for rule in facts.kernel.towards
                if rule.priority not in ours and
                address in iptext.network(rule.dst)),
               default=None, key=operator.attrgetter('priority'))


def rule_text(rule):
    """A rule in the manner of ip-rule(8)."""
    words = [f'{rule.priority}:', f'from {rule.src or "all"}']
    words += [f'to {rule.dst}'] if rule.dst else []
    if rule.fwmark is not None:
        mark, mask = rule.fwmark
        words += [f'fwmark {mark:#x}/{mask:#x}']
    words += [f'iif {rule.iif}'] if rule.iif else []
    words += [f'lookup {rule.table}' if rule.table else 'blackhole']
    if rule.suppress is not None:
        words.append(f'suppress_prefixlength {rule.suppress}')
    return ' '.join(words)


def leak_table(facts):
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


def route(facts):
    """The finding about the route of the address to the bridge."""
    subject = facts.subject
    wanted = next((each for each in subject.wanted_of(
        resources.KernelRoute, resources.AnnouncedRoute)
        if each.subject == subject.prefix and
        each.dev == subject.segment.device), None)
    device = subject.segment.device
    table = wanted.table if wanted else resources.MAIN_TABLE
    found = facts.kernel.lookups['here']
    named = (found.table, found.dst) == (table, subject.prefix)
    if found.dev != device or found.error or _is_other(facts, found, table):
        return verdicts.broken(
            'kernel-route', f'no route {subject.prefix} dev {device} in '
            f'table {table}; the kernel would use: {found.text()}',
            verdicts.RESTORE)
    if wanted and named and found.protocol != ownership.ROUTE_PROTOCOL:
        return verdicts.warn(
            'kernel-route', f'{found.text()}: not the mark of the agent, '
            f'proto {ownership.ROUTE_PROTOCOL}',
            'remove the other route, and have the agent compare')
    return verdicts.ok('kernel-route', found.text())


def _is_other(facts, found, table):
    """Whether the kernel uses another route than the one of the address.

    zebra's routes share a next hop, and the kernel keeps one answer of IPv6
    for each next hop, with the name of whichever route was used first.

    :param found: :class:`netlink.lookups.Lookup`
    :param table: routing table of the route of the address
    """
    named = found.dst == facts.subject.prefix
    return (found.table != table) if named else facts.version == 4


def way_in(facts):
    """The finding about a packet that comes out of the veth pair."""
    found = facts.kernel.lookups.get('in')
    device = facts.subject.segment.device
    if found is None:
        return verdicts.broken(
            'kernel-lookup', f'there is no device {ownership.VETH_DEFAULT}',
            verdicts.RESTORE)
    back_ = facts.kernel.lookups.get('out')
    if found.refused and back_ and back_.error and not back_.refused:
        # The kernel looks for the way back to the sender, too.
        return verdicts.unchecked(
            'kernel-lookup', f'{found.text()} (follows from: '
            f'{verdicts.LAYERS["way-back"]})')
    if found.dev != device or found.error:
        return verdicts.broken(
            'kernel-lookup', f'from {facts.setup.client} out of '
            f'{ownership.VETH_DEFAULT}: {found.text()}, and not to {device}',
            'look for a rule or route of another program: '
            f'"{verdicts.IP[facts.version]} rule", '
            f'"ip route get {facts.subject.address} from '
            f'{facts.setup.client} iif {ownership.VETH_DEFAULT}"')
    return verdicts.ok('kernel-lookup', f'out of {ownership.VETH_DEFAULT}: '
                                        f'{found.text()}')


def in_vrf(facts):
    """The finding about the route of the address in the VRF."""
    found = facts.kernel.lookups.get('vrf')
    prefix, vrf = facts.subject.prefix, facts.setup.vrf
    if found is None:
        return verdicts.broken(
            'vrf-lookup', f'there is no device {vrf}',
            f'"ip link add {vrf} type vrf table NUMBER", and "ip link set '
            f'{vrf} up"')
    other = _is_other(facts, found, found.table)
    wider = other and found.dst and networks.inside(
        facts.subject.address, networks.of_version(4, [found.dst]))
    if found.dev != ownership.VETH_PROVIDER or other and not wider:
        return verdicts.broken(
            'vrf-lookup', f'{vrf} does not send {prefix} to '
            f'{ownership.VETH_PROVIDER}: {found.text()}',
            f'{verdicts.RESTORE}; if it stays so, look for a rule or route '
            f'of another program: "{verdicts.IP[facts.version]} rule", '
            f'"{verdicts.IP[facts.version]} route show vrf {vrf} '
            f'{facts.subject.address}"')
    if other:
        return _by_a_wider_route(facts, found)
    return verdicts.ok('vrf-lookup', found.text())


def _by_a_wider_route(facts, found):
    """The finding about packets that arrive without the route of the address.

    By the method "static", zebra announces the route that the kernel lacks.
    """
    prefix, vrf = facts.subject.prefix, facts.setup.vrf
    evidence = (f'{vrf} has no route {prefix} in the kernel; packets go to '
                f'{ownership.VETH_PROVIDER} by a wider route: {found.text()}')
    if facts.setup.method == 'kernel':
        return verdicts.broken(
            'vrf-lookup', f'{evidence}, which does not announce the address',
            verdicts.RESTORE)
    return verdicts.warn(
        'vrf-lookup', evidence, 'if zebra calls the route installed, another '
        'program has removed it: "ovn-network-agent-ctl doctor '
        'network-managers" looks for one; once that is mended, drain this '
        'node and restart FRR, which makes its routes again')


def back(facts):
    """The finding about a reply that comes out of the bridge."""
    found = facts.kernel.lookups.get('out')
    wanted = ownership.VETH_DEFAULT if facts.setup.pair else ''
    setup, device = facts.setup, facts.subject.segment.device
    if found is None:
        return verdicts.broken('way-back', f'there is no device {device}',
                               verdicts.RESTORE)
    if found.error or (wanted and found.dev != wanted):
        return verdicts.broken(
            'way-back', f'from {facts.subject.address} out of {device} to '
            f'{setup.client}: {found.text()}'
            f'{", and not to " + wanted if wanted else ""}',
            'look for a rule or route of another program: "ip route get '
            f'{setup.client} from {facts.subject.address} iif {device}"')
    return verdicts.ok('way-back', f'to {setup.client}: {found.text()}')


def out_of_vrf(facts):
    """The finding about the way of a reply from the VRF to the fabric."""
    found = facts.kernel.lookups.get('out vrf')
    setup = facts.setup
    sender = facts.kernel.lookups.get('vrf')
    if (found and found.error and not found.missing and
            sender and sender.error):
        # The kernel looks for the way back to the sender, too.
        return verdicts.unchecked(
            'vrf-default', f'{found.text()} (follows from: '
            f'{verdicts.LAYERS["vrf-lookup"]})')
    device = next((each for each in facts.subject.node.devices
                   if each.name == setup.vrf), None)
    table = device.vrf_table if device else 0
    if found is None or found.error or found.table not in (table, _UNKNOWN):
        return verdicts.broken(
            'vrf-default', f'{setup.vrf} has no route to {setup.client}: '
            f'{found.text() if found else "no such device"}',
            'the operator of the BGP neighbour has to announce a default '
            'route to this node; or set one, in "configure terminal" of '
            f'vtysh: "vrf {setup.vrf}" / "{setups.WORDS[facts.version]} '
            f'route {veth.DEFAULT[facts.version]} NEXT-HOP"')
    if found.dev in (ownership.VETH_PROVIDER, facts.device):
        return verdicts.broken(
            'vrf-default', f'{setup.vrf} sends {setup.client} back to '
            f'{found.dev}', f'"{verdicts.IP[facts.version]} route del '
            f'{found.dst} table {found.table}" removes that route; who made '
            'it has to make it no longer')
    return verdicts.ok('vrf-default', f'to {setup.client}: {found.text()}')
