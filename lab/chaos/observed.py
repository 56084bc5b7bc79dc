# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What nodes and the spine really have, in the words of the oracle.

A look at a node costs one shell, one ``ip``, one ``ovs-ofctl`` and one
``nft``, some 0.2 s of the machine's processor.  FRR is asked through its
sockets.
"""

import dataclasses
import ipaddress
import json
import re

from lab import frr
from lab import node as nodes
from lab import plan

_END = '@@end@@'
_SCRIPT = f'''\
ip -j -d -batch - <<end
rule show
route show table all
addr show
neigh show nud permanent
end
echo {_END}
ovs-ofctl --names dump-flows {plan.BRIDGE} 2>&1 || echo failed
echo {_END}
nft -j list ruleset || echo failed
echo {_END}
ovs-vsctl --timeout=10 -- get Open_vSwitch . external_ids \\
    -- list-ports {plan.BRIDGE} 2>&1 || echo failed
'''
_OURS = '44'
# Protocols of routes that FRR and the kernel write.
_PROGRAMS = {_OURS, 'kernel', 'bgp', 'static', 'zebra'}
_TABLE = 'ovn-network-agent'
_COOKIES = {'0x997', '0x998', '0x999'}
_FLOW = re.compile(r'cookie=(0x[0-9a-f]+),.*? (priority=.*)')
_PATCH = re.compile(r'"?patch-provnet-[^",: ]*"?')
_STATIC = re.compile(r'ip route (\S+)/32 (169\.254\.0\.1|br-ex)$')
_LINE = re.compile(r'seq (\d+) permit (\S+) ge 32 le 32$')
_PREFIX_LIST = 'ip prefix-list ANNOUNCED-NETWORKS '
# Sequence numbers of the agents.
_FIRST, _LAST = 1_000_000_000, 1_999_999_999
_KEY = re.compile(r'[{ ]"?([^"=,{]+)"?=')
_VOLATILE = re.compile(r'"(handle|packets|bytes)": \d+,? ?')


@dataclasses.dataclass
class Seen:
    """What a node has."""

    # Set of text: objects of the agent
    facts: set = dataclasses.field(default_factory=set)
    # Set of text: objects of others
    rest: set = dataclasses.field(default_factory=set)
    problem: str = ''  # why the look is not complete, or ''


def look(node, ovn: bool = True):
    """Look at a gateway node."""
    try:
        done = node.run(['sh', '-c', _SCRIPT], check=False, timeout=30)
        configurations = [frr.ask(node, name, 'show running-config')
                          for name in (frr.STATIC, 'bgpd')]
        return parse(done.stdout, *configurations, ovn)
    except (nodes.NodeError, OSError, ValueError, KeyError) as e:
        return Seen(problem=f'{type(e).__name__}: {e}'.strip()[:500])


def parse(output: str, static: str, bgpd, ovn: bool = True):
    """Read what the programs have said.

    :raises ValueError: when a program has failed
    """
    seen = Seen()
    ip, flows, nft, database = output.split(_END + '\n')
    rules, routes, links, neighbours = _documents(ip)
    macs = {link['address']: link['ifname'] for link in links
            if 'address' in link}
    _rules(seen, rules)
    _routes(seen, routes)
    _links(seen, links)
    _neighbours(seen, neighbours, macs)
    if ovn:
        _flows(seen, flows, next((mac for mac, name in macs.items()
                                  if name == plan.BRIDGE), 'none'))
        _database(seen, database)
    _nft(seen, nft)
    _frr(seen, static, bgpd)
    return seen


def _documents(text):
    """The JSON documents of ``ip -batch``, one after the other."""
    decoder, found = json.JSONDecoder(), []
    text = text.strip()
    while text:
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:].strip()
    return found


# -- the kernel -------------------------------------------------------------

def _rules(seen, rules):
    for rule in rules:
        words = [f'rule {rule["priority"]:d} from', _prefix(rule, 'src')]
        if 'dst' in rule:
            words += ['to', _prefix(rule, 'dst')]
        if 'iif' in rule:
            words += ['iif', rule['iif']]
        if 'fwmark' in rule:
            words += [f'fwmark {rule["fwmark"]}/'
                      f'{rule.get("fwmask", "0xffffffff")}']
        if 'table' in rule:
            words += ['lookup', rule['table']]
        if 'suppress_prefixlen' in rule:
            words += [f'suppress {rule["suppress_prefixlen"]:d}']
        if 'action' in rule:
            words += [rule['action']]
        if rule.get('protocol') == _OURS:
            seen.facts.add(' '.join(words))
        elif rule.get('protocol') != 'kernel':
            seen.rest.add(' '.join(words))


def _prefix(rule, key):
    length = rule.get(key + 'len')
    return rule[key] + ('' if length is None else f'/{length:d}')


def _routes(seen, routes):
    for route in routes:
        if 'pref' in route:
            # Only routes of IPv6 have a preference.
            continue
        words = [f'route {route["table"]} {route["dst"]}']
        if 'gateway' in route:
            words += ['via', route['gateway']]
        if 'dev' in route:
            words += ['dev', route['dev']]
        if route['protocol'] == _OURS:
            seen.facts.add(' '.join(words))
        elif route['protocol'] not in _PROGRAMS:
            seen.rest.add(' '.join((route['type'], *words)))


def _links(seen, links):
    for link in links:
        name = link['ifname']
        if name in ('veth-default', 'veth-provider'):
            master = link.get('master')
            seen.facts.add(f'link {name}' +
                           (f' master {master}' if master else ''))
            if 'UP' not in link['flags']:
                seen.facts.add(f'link {name} is down')
        for address in link['addr_info']:
            if address['family'] != 'inet':
                continue
            text = (f'address {name} {address["local"]}/'
                    f'{address["prefixlen"]:d}')
            if _is_ours(name, address['local']):
                seen.facts.add(text)
            else:
                seen.rest.add(text)


def _is_ours(device, address):
    """Whether agents put an address on a device.

    ``ip`` of Debian 12 does not show the protocol of addresses.
    """
    return (device.startswith('veth-') or device == plan.BRIDGE or
            (device == 'loopback1' and (
                address == '169.254.169.253' or
                ipaddress.ip_address(address) in plan.VIPS)))


def _neighbours(seen, neighbours, macs):
    for one in neighbours:
        if one.get('protocol') == _OURS:
            mac = one.get('lladdr', '')
            mac = f'@{macs[mac]}' if mac in macs else mac
            seen.facts.add(f'neighbour {one["dev"]} {one["dst"]} {mac}')


# -- Open vSwitch and nftables ----------------------------------------------

def _flows(seen, text, bridge_mac):
    if 'failed' in text:
        raise ValueError('ovs-ofctl: ' + text.strip())
    for line in text.splitlines():
        match = _FLOW.search(line)
        if not match:
            continue
        flow = _PATCH.sub('PATCH', match[2]).replace('"', '')
        flow = flow.replace(bridge_mac, 'BRIDGE')
        if match[1] in _COOKIES:
            seen.facts.add(f'flow {match[1]} {flow}')
        else:
            seen.rest.add(f'flow {match[1]} {flow}')


def _database(seen, text):
    """Relays, and keys of the agent in the local database."""
    if 'failed' in text:
        raise ValueError('ovs-vsctl: ' + text.strip())
    ids, *ports = text.splitlines()
    seen.facts |= {f'relay {port}' for port in ports
                   if port.startswith('ona-')}
    seen.facts |= {f'external-id {key}' for key in _KEY.findall(ids)
                   if key.startswith('ovn-network-agent') or (
                       key.startswith('ovn-remote-') and
                       key != 'ovn-remote-probe-interval')}


def _nft(seen, text):
    for item in json.loads(text)['nftables']:
        ((kind, value),) = item.items()
        if kind == 'metainfo':
            continue
        table = value['name'] if kind == 'table' else value.get('table')
        if table != _TABLE:
            seen.rest.add('nft ' + _VOLATILE.sub('', json.dumps(item)))
        elif kind == 'table':
            # Without VIPs there is no table.
            continue
        elif kind == 'set' and value['name'] in ('provider_networks',
                                                 'guarded'):
            seen.facts |= {f'nft {value["name"]} {_element(one)}'
                           for one in value.get('elem', ())}
        elif kind == 'rule' and value['chain'] == 'prerouting_dnat':
            seen.facts |= set(_translations(value))


def _element(one):
    if isinstance(one, dict) and 'prefix' in one:
        return f'{one["prefix"]["addr"]}/{one["prefix"]["len"]:d}'
    return str(one)


def _translations(rule):
    """Facts of a map from (VIP, protocol, port) to (address, port)."""
    for expression in rule['expr']:
        found = expression.get('dnat', {}).get('addr')
        if not isinstance(found, dict) or 'map' not in found:
            continue
        for key, value in found['map']['data']['set']:
            vip, _proto, port = key['concat']
            backend, dest = value['concat']
            yield f'dnat {vip} {port:d} to {backend} {dest:d}'


# -- FRR --------------------------------------------------------------------

def _frr(seen, static, bgpd):
    for line in static.splitlines():
        line = line.strip()
        match = _STATIC.match(line)
        if match:
            seen.facts.add(f'static {match[1]} {match[2]}')
        elif line.startswith('ip route '):
            seen.rest.add('frr ' + line)
    for line in bgpd.splitlines():
        line = line.strip()
        match = _LINE.match(line.removeprefix(_PREFIX_LIST))
        if line.startswith(_PREFIX_LIST) and match and (
                _FIRST <= int(match[1]) <= _LAST):
            seen.facts.add(f'prefix-list permit {match[2]}')
        elif line and not line.startswith('!'):
            seen.rest.add('frr ' + line)


def bridge_mac(node):
    """MAC of the provider bridge of a node, '' without one; no process."""
    try:
        return node.read(f'/sys/class/net/{plan.BRIDGE}/address').strip()
    except (OSError, nodes.NodeError):
        return ''


# -- the spine --------------------------------------------------------------

def spine_facts(table: dict, gateways: list[str]) -> set:
    """What the spine has learned about addresses of the agents."""
    names = {plan.UPLINKS[name][1]: name for name in gateways}
    return {f'announced by {names.get(hop, hop)} {address}'
            for address, hops in announced(table).items() for hop in hops}


def announced(table: dict) -> dict[str, set[str]]:
    """Addresses of the provider network and VIPs that the spine knows."""
    found = {}
    for prefix, hops in table.items():
        address, _, length = prefix.partition('/')
        ip = ipaddress.ip_address(address)
        if length == '32' and (ip in plan.PROVIDER or ip in plan.VIPS):
            found[address] = set(hops)
    return found


def is_vip(address):
    """Whether an address is a VIP, which many gateways may announce."""
    return ipaddress.ip_address(address) in plan.VIPS
