# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The database client, which knows nothing of OVN."""

SCHEMAS = {'nb': 'OVN_Northbound', 'sb': 'OVN_Southbound',
           'ovs': 'Open_vSwitch'}
