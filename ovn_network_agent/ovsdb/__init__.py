# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The database client: connections, replicas, streams, TLS.

Nothing here knows OVN.
"""

# From the agent's name of a database to that of its schema.
SCHEMAS = {'nb': 'OVN_Northbound', 'sb': 'OVN_Southbound',
           'ovs': 'Open_vSwitch'}
