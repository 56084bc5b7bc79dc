# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The profiles: kinds of clouds that a run can have."""

from lab import routers
from lab.chaos import values

# Without a VRF there is no veth pair with its routes, rules and addresses.
# The announced route is the host route, and the change of the method loses
# packets, as the documentation says.
_NO_VRF = ('vrf', 'drift-link', 'drift-neighbour', 'drift-rule',
           'drift-pair-address', 'drift-leak-route', 'drift-announcement',
           'drift-sysctl', 'drift-storm', 'flip-method')
# The agents know nothing of OVN, of routers and of the provider bridge, and
# have no daemon for FRR.  They do not know of each other, either: when all of
# them restart without a pause, nobody has the VIPs.
_NO_OVN = ('databases-silent', 'control-loss', 'control-delay',
           'control-silence', 'daemon-ovs', 'drift-leak-route', 'drift-rule',
           'drift-sysctl', 'drift-flows', 'drift-storm', 'flip-method',
           'flip-drain', 'double-failover', 'router', 'ovsdb-silent',
           'descriptors', 'daemon-frr', 'rolling')

PROFILES = {one.name: one for one in (
    values.Profile('static', 'static routes of FRR, Gateway_Chassis rows'),
    values.Profile('kernel', 'kernel routes, HA_Chassis_Group rows, VIPs only '
                   'with a router', announce='with-gateway',
                   methods=('kernel', 'kernel'),
                   scheduler=routers.HA_CHASSIS_GROUP),
    values.Profile('default-vrf', 'BGP in the default VRF, kernel routes',
                   methods=('kernel', 'kernel'), vrf='', without=_NO_VRF),
    values.Profile('port-forward-only', 'VIPs, and no OVN for the agents',
                   routers=0, ovn=False, without=_NO_OVN),
    values.Profile('mixed', 'static routes on gw1, kernel routes on gw2',
                   methods=('static', 'kernel'), announce='with-gateway'),
    # Three nodes with all their programs share one processor: fewer probes.
    values.Profile('three-gateways', 'three gateways and one router',
                   gateways=3, methods=('kernel', 'kernel', 'kernel'),
                   scheduler=routers.HA_CHASSIS_GROUP, routers=1,
                   bfd=False, probe_interval=0.05, without=('bfdd',)),
)}
