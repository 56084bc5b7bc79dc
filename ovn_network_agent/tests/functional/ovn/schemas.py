# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Schemas of databases as older and newer versions of OVN have them."""

import json

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb


def without(*names):
    """Take away tables ('NAT') and columns ('NAT.match'), where present."""
    def change(tables):
        for name in names:
            table, _dot, column = name.partition('.')
            if column:
                tables[table]['columns'].pop(column, None)
            else:
                tables.pop(table, None)
    return change


def from_the_future(tables):
    """Columns in all tables, and a table, that nobody knows."""
    for table in tables.values():
        table['columns']['of_the_future'] = {
            'type': {'key': 'string', 'min': 0, 'max': 'unlimited'}}
    tables['Of_The_Future'] = {'columns': {'name': {'type': 'string'}},
                               'isRoot': True}


def with_advertised(tables):
    """The table of SB that OVN has since 25.03, with its columns."""
    def reference(table, **more):
        return {'type': {'key': {'type': 'uuid', 'refTable': table,
                                 'refType': 'strong'}, **more}}
    tables.setdefault('Advertised_Route', {'isRoot': True, 'columns': {
        'datapath': reference('Datapath_Binding'),
        'logical_port': reference('Port_Binding'),
        'ip_prefix': {'type': 'string'},
        'tracked_port': reference('Port_Binding', min=0, max=1),
        'external_ids': {'type': {
            'key': 'string', 'value': 'string', 'min': 0,
            'max': 'unlimited'}}}})


def with_bindings(tables):
    """The table that OVN 22.03 does not have."""
    with open(ovsdb.SCHEMA_FILES['nb']) as opened:
        tables['Static_MAC_Binding'] = json.load(opened)['tables'][
            'Static_MAC_Binding']
