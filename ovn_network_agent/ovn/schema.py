# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The tables and columns that the agent cannot do without.  Pure.

OVN 22.03 (NB schema 6.1.0, SB 20.21.0) to 26.03 (NB 7.18.0) have all but
Static_MAC_Binding.  Nothing is concluded from a database that lacks one.
"""

from collections.abc import Mapping
from typing import Any

from ovn_network_agent.ovn import events
from ovn_network_agent.ovsdb import connection

OLDEST = '22.03'
# The view reads no rows of a missing one; a command reports it.
_OPTIONAL_TABLES = {'Gateway_Chassis', 'HA_Chassis', 'HA_Chassis_Group',
                    'Load_Balancer', 'Load_Balancer_Group', 'Logical_Switch',
                    'Static_MAC_Binding'}
_OPTIONAL_COLUMNS = {
    ('Datapath_Binding', 'external_ids'),
    ('Logical_Router', 'load_balancer'),
    ('Logical_Router', 'load_balancer_group'),
    ('Logical_Router', 'options'),
    ('Logical_Router_Port', 'external_ids'),
    ('Logical_Router_Port', 'gateway_chassis'),
    ('Logical_Router_Port', 'ha_chassis_group'),
    ('Logical_Router_Port', 'ipv6_ra_configs'),
    ('Logical_Router_Port', 'options'),
    ('Logical_Router_Static_Route', 'output_port'),
    ('Logical_Router_Static_Route', 'policy'),
    ('Logical_Router_Static_Route', 'route_table'),
    ('NAT', 'external_ids'), ('NAT', 'external_mac'),
    ('NAT', 'gateway_port'), ('NAT', 'logical_port'), ('NAT', 'options'),
    ('Port_Binding', 'additional_chassis'), ('Port_Binding', 'port_security'),
    ('Port_Binding', 'requested_chassis'),
    ('Port_Binding', 'tag'),
    ('Port_Binding', 'up'),
}


def objection(database: str, required: Mapping[str, set[str]],
              tables: Mapping[str, Any]) -> str:
    """Why a database with this schema, in JSON, cannot be used, or ''."""
    missing: set[str] = set()
    for watch in events.VIEW:
        if watch.database != database or watch.table not in required or (
                watch.table in _OPTIONAL_TABLES):
            continue
        if watch.table not in tables:
            missing.add(f'table {watch.table}')
            continue
        present = tables[watch.table]['columns']
        missing.update(
            f'column {column} of table {watch.table}'
            for column in required[watch.table].intersection(watch.columns)
            if column not in present and
            (watch.table, column) not in _OPTIONAL_COLUMNS)
    if not missing:
        return ''
    return (f'{connection.SCHEMAS[database]} has no '
            f'{", no ".join(sorted(missing))}: it is of an OVN older than '
            f'{OLDEST}, or of none')
