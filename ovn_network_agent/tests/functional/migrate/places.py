# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses of the node on which one program replaces another."""

from ovn_network_agent.tests import original

BRIDGE = original.BRIDGE
BRIDGE_MAC = '02:00:00:00:0e:01'
# Short, because the original knows no other.
HOSTNAME = 'gw1'
CLIENT, NODE = '10.0.0.2', '10.0.0.1'
DESTINATION = '10.0.1.5'
FORWARD = original.Forward('192.0.2.53', 80, DESTINATION, 8080)
ALPHA = original.Router('lrp-alpha', 'fa:16:3e:00:00:01', '198.51.100.1/24',
                        ('198.51.100.10',))
BETA = original.Router('lrp-beta', 'fa:16:3e:00:00:02', '198.51.100.2/24',
                       ('198.51.100.20',))
NETWORK = ALPHA.network
