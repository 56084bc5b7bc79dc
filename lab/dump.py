# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""All state of a node and of NB that an agent could change, as text."""

import re

from lab import frr

# Values that change by themselves: counters, ages, transaction numbers.  The
# protocol of an address is shown by iproute2 of Debian 13, and that of Debian
# 12 cannot set it.
VOLATILE = re.compile(
    r'duration=[\d.]+s, |n_packets=\d+, |n_bytes=\d+, |idle_age=\d+, |'
    r'hard_age=\d+, |\(xid=0x[0-9a-f]+\)|REACHABLE|STALE|DELAY|PROBE| nhid '
    r'\d+| proto 0x2c|\w+_timer +[\d.]+ ')
# The link-local addresses of the agent; the kernel makes the others by itself.
_OURS = 'fe80::a9fe:'
NODE_COMMANDS = (
    ('ip', '-br', 'link'), ('ip', '-o', '-4', 'addr'),
    ('ip', '-o', '-6', 'addr'), ('ip', 'rule'),
    ('ip', 'route', 'show', 'table', 'all', 'type', 'unicast'),
    ('ip', '-6', 'rule'),
    ('ip', '-6', 'route', 'show', 'table', 'all', 'proto', '44'),
    ('ip', 'neigh', 'show', 'nud', 'permanent'),
    ('ip', 'neigh', 'show', 'proxy'),
    ('ovs-ofctl', 'dump-flows', 'br-ex'),
    ('nft', 'list', 'ruleset'))
NB_TABLES = {
    'Logical_Router': ('name', 'static_routes', 'nat', 'ports', 'options'),
    'Logical_Router_Static_Route': ('ip_prefix', 'nexthop', 'output_port',
                                    'external_ids'),
    'Static_MAC_Binding': ('logical_port', 'ip', 'mac'),
    'Gateway_Chassis': ('name', 'priority'),
    'HA_Chassis': ('chassis_name', 'priority')}


def node(one) -> dict:
    """State of a node."""
    found = {' '.join(argv): sorted(
        VOLATILE.sub('', line).rstrip()
        for line in one.out(*argv).splitlines()
        if 'fe80' not in line or _OURS in line) for argv in NODE_COMMANDS}
    found['show running-config'] = sorted({
        line.rstrip() for daemon in frr.DAEMONS for line in frr.ask(
            one, daemon, 'show running-config').splitlines()})
    return found


def northbound(cloud) -> dict:
    """Rows of NB that an agent could write."""
    found = {}
    with cloud.nb.connection.lock:
        for table, columns in NB_TABLES.items():
            found[table] = sorted(
                _line(row, columns)
                for row in cloud.nb.idl.tables[table].rows.values())
    return found


def _line(row, columns):
    values = ' '.join(f'{column}={_plain(getattr(row, column))}'
                      for column in columns)
    return f'{row.uuid} {values}'


def _plain(value):
    if isinstance(value, list):
        return sorted(str(getattr(item, 'uuid', item)) for item in value)
    if isinstance(value, dict):
        return sorted(value.items())
    return value


def difference(before, after):
    """The differences of two dumps, a list of lines with + and -."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        old, new = set(before.get(name, ())), set(after.get(name, ()))
        lines += [f'{name}: -{line}' for line in sorted(old - new)]
        lines += [f'{name}: +{line}' for line in sorted(new - old)]
    return lines
