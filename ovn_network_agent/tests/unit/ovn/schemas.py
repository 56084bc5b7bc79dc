# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tables of OVN and Open vSwitch, with the columns in use.

A functional test compares them with the schemas of the installed versions.
"""

import re

# A line has a table ("!": its rows stay without a reference) and its columns.
# After the name of a column: ">" or "~" and the table of a strong or a weak
# reference; "#" for integers, "&" for booleans; "?" for an optional value, "*"
# for a set, "+" for a set with at least one value, "%" for a map of texts.
TABLES = {
    'nb': '''
Address_Set! name addresses* external_ids%
DHCP_Options! cidr options% external_ids%
Gateway_Chassis name chassis_name priority# external_ids%
HA_Chassis chassis_name priority# external_ids%
HA_Chassis_Group! name ha_chassis>HA_Chassis*
Load_Balancer! name vips% protocol? options% external_ids% ip_port_mappings%\
 health_check>Load_Balancer_Health_Check*
Load_Balancer_Group! name load_balancer~Load_Balancer*
Load_Balancer_Health_Check vip
Logical_Router! name enabled&? options% external_ids% nat>NAT*\
 ports>Logical_Router_Port* static_routes>Logical_Router_Static_Route*\
 policies>Logical_Router_Policy* load_balancer~Load_Balancer*\
 load_balancer_group>Load_Balancer_Group*
Logical_Router_Policy action match nexthops* priority# external_ids%
Logical_Router_Port name mac networks+ peer? enabled&? options% external_ids%\
 ipv6_ra_configs% gateway_chassis>Gateway_Chassis*\
 ha_chassis_group>HA_Chassis_Group?
Logical_Router_Static_Route ip_prefix nexthop output_port? policy?\
 route_table external_ids%
Logical_Switch! name ports>Logical_Switch_Port* external_ids%
Logical_Switch_Port name type addresses* dynamic_addresses? options%\
 external_ids%
NAT type external_ip logical_ip external_mac? logical_port? options%\
 external_ids% gateway_port~Logical_Router_Port? allowed_ext_ips>Address_Set?
NB_Global! options% external_ids%
Port_Group! name ports~Logical_Switch_Port* external_ids%
Static_MAC_Binding! ip logical_port mac override_dynamic_mac&''',
    'sb': '''
Address_Set! name
Advertised_Route! datapath>Datapath_Binding ip_prefix\
 logical_port>Port_Binding tracked_port>Port_Binding? external_ids%
Chassis! name hostname encaps>Encap+
Chassis_Private! name nb_cfg# nb_cfg_timestamp#
Datapath_Binding! tunnel_key# external_ids%
Encap type ip chassis_name
HA_Chassis chassis~Chassis? priority#
HA_Chassis_Group! name ha_chassis>HA_Chassis*
Port_Binding! logical_port type datapath>Datapath_Binding tunnel_key#\
 chassis~Chassis? additional_chassis~Chassis* requested_chassis~Chassis?\
 ha_chassis_group>HA_Chassis_Group? mac* nat_addresses* options%\
 external_ids% parent_port? port_security* tag#? up&? virtual_parent?
SB_Global! nb_cfg#
Service_Monitor! ip logical_port port# protocol? status?''',
    'ovs': '''
Bridge name ports>Port*
Interface name type ofport#? options% external_ids% bfd% bfd_status% error?
Open_vSwitch! bridges>Bridge* external_ids%
Port name interfaces>Interface+ tag#? trunks#* vlan_mode? protected&\
 other_config% external_ids%
QoS! type'''}
NAMES = {'nb': 'OVN_Northbound', 'sb': 'OVN_Southbound', 'ovs': 'Open_vSwitch'}
_COLUMN = re.compile(r'(\w+)(?:([>~])(\w+))?([#&]?)([?*+%]?)')
_LENGTHS = {'': {}, '?': {'min': 0}, '*': {'min': 0, 'max': 'unlimited'},
            '+': {'max': 'unlimited'},
            '%': {'min': 0, 'max': 'unlimited', 'value': 'string'}}


def of(name):
    """The schema of a database, as the protocol has it.

    :param name: 'nb', 'sb' or 'ovs'
    """
    return {'name': NAMES[name], 'version': '1.0.0', 'tables': dict(
        _table(*line.split()) for line in TABLES[name].strip().splitlines())}


def _table(name, *columns):
    return name.rstrip('!'), {'isRoot': name.endswith('!'),
                              'columns': dict(map(_column, columns))}


def _column(text):
    name, strength, table, kind, number = _COLUMN.fullmatch(text).groups()
    key = {'': 'string', '#': 'integer', '&': 'boolean'}[kind]
    if table:
        key = {'type': 'uuid', 'refTable': table,
               'refType': 'strong' if strength == '>' else 'weak'}
    return name, {'type': {'key': key, **_LENGTHS[number]}}
