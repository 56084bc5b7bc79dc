# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[gateway_drain]: the driver of drains and of stale routes."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'gateway_drain'

OPTS = [
    cfg.BoolOpt(
        'drain_on_shutdown', default=True, mutable=True,
        help='Whether an orderly stop (SIGTERM, SIGINT) first hands all '
             'gateway ports over to other chassis. With the option off, a '
             'stop withdraws at once, and OVN keeps the gateway ports on '
             'this chassis.'),
    cfg.Opt(
        'drain_timeout', type=types.Seconds(max=86400), default=60,
        mutable=True,
        help='Seconds that the drain of an orderly stop may take. This node '
             'goes on announcing and forwarding until other nodes have taken '
             'everything over or time is up. Then the agent cleans up in any '
             'case, for which shutdown_timeout counts. The drain also waits '
             'so long for the agent of another gateway node that was '
             'stopped, too, and may be starting. A second signal ends the '
             'wait. The supervisor has to wait longer than the sum of both.'),
    cfg.Opt(
        'drain_settle_delay', type=types.Seconds(max=3600), default=0.5,
        mutable=True,
        help='Seconds to go on announcing after the agent of the new owner '
             'has proved that BGP advertises the addresses there, until the '
             'whole fabric has received the new routes.'),
    cfg.Opt(
        'handover_timeout', type=types.Seconds(max=86400), default=30,
        mutable=True,
        help='When a gateway port leaves this chassis for any other reason '
             'than a stop: seconds to go on announcing its addresses and '
             'relaying packets to the new owner, as long as the new owner '
             'has not proved that it announces the addresses. 0: let go at '
             'once.'),
    cfg.StrOpt(
        'restore', default='standby', mutable=True,
        choices=[
            ('standby', 'the lowest priority that is not drained, 1'),
            ('ordered', 'the priority it had before it was drained, but '
                        'below that of the owner')],
        help='What priority this chassis gets back in its gateway groups '
             'after a drain, once its agent has started or the drain has '
             'been undone. The restored priority never takes a gateway port '
             'back. With "standby" all standbys are equal after each standby '
             'has been drained once, and OVN chooses the chassis whose name '
             'sorts last. "ordered" keeps Neutron\'s order.'),
    cfg.BoolOpt(
        'relay', default=True,
        help='Whether to make tunnel ports between the provider bridges of '
             'gateway nodes that share routers. OVN drops packets for a '
             'router on a chassis that no longer has its gateway port; '
             'through the tunnel the packets reach the chassis that has the '
             'port. With the option off, a gateway port that has left is let '
             'go at once.'),
    cfg.IntOpt(
        'relay_candidates', default=5, min=2, max=1000, mutable=True,
        help='So many candidates of a gateway port have relays with each '
             'other: the first ones in the order of priorities, and the '
             'owner. A drained candidate keeps its place in the order. '
             'Neutron schedules five candidates at most, so with the default '
             'all of them have relays. With hundreds of gateway nodes a '
             'smaller number saves tunnel ports. Then a gateway port that '
             'moves to or from a candidate further down in the order moves '
             'without a relay. All gateway nodes need the same number.'),
    cfg.BoolOpt(
        'standby_needs_bgp', default=True,
        help='Whether an unfit standby has priority 0 in its gateway groups, '
             'so that no drain moves ports to this standby. A standby is '
             'unfit when zebra, bgpd, or staticd with announce_method '
             'static, of FRR do not run for 3 seconds. A standby is also '
             'unfit when neighbours are activated for IPv4 unicast in the '
             'BGP instance of [frr] vrf_name and none of them is established '
             'for 3 seconds; without such neighbours, those for IPv6 unicast '
             'decide. The standby is fit again when all is well for 5 '
             'seconds, or at once if no other standby has a priority. The '
             'agent does not check without an activated neighbour, without '
             'vtysh, with [frr] bgp_check off, and as long as FRR does not '
             'answer. An owner keeps its gateway ports.'),
    cfg.BoolOpt(
        'overlap', default=True, mutable=True,
        help='Whether in a drain of all gateway ports of this chassis the '
             'next owners take over before this chassis lets go, so that no '
             'packet meets a gateway node without the port. For the overlap '
             'the agent pauses the local ovn-controller (debug/pause) for 2 '
             'to 4 seconds and interrupts BFD between this chassis and the '
             'other gateway nodes. ovn-controller then connects to the '
             'Southbound database again. A separate program undoes all these '
             'changes when the agent dies, and after 12 seconds in any case. '
             'An overlap needs OVN 23.03 or later, the control socket of '
             'ovn-controller, see [ovs] ovn_rundir, and ovsdb_connection '
             'without SSL. If one of them is missing, the status says so, '
             'and a drain goes on without an overlap after 3 seconds.'),
    cfg.Opt(
        'stale_chassis_grace_period', type=types.Seconds(max=604800),
        default=300, mutable=True,
        help='Seconds after which the default routes and MAC bindings of a '
             'missing chassis are removed from OVN. The time begins when the '
             'Southbound database no longer has a chassis of the host name '
             'on the route. Each agent adds a random time of up to 30 '
             'seconds, so that not all agents remove the rows at the same '
             'time. Time without a complete view of OVN does not count, and '
             'a chassis that returns is forgotten. The driver fip_route '
             'removes the rows, with or without gateway_drain. 0: never.'),
    cfg.Opt(
        'silent_chassis_limit', type=types.Seconds(max=2592000), default=0,
        help='Seconds after which a silent chassis counts as missing from '
             'the Southbound database, and stale_chassis_grace_period '
             'begins. A killed ovn-controller leaves its chassis there, and '
             'nothing else tells such a chassis from a living one. A chassis '
             'counts as silent when its nb_cfg has lagged for longer than '
             'the limit while this chassis has kept up, and its last answer '
             'is older than the newest answer of all chassis by the limit. '
             'Neutron raises nb_cfg when its agents are listed; if nothing '
             'raises nb_cfg, no chassis is silent. A chassis with a gateway '
             'port never counts as silent. The limit must not be shorter '
             'than stale_chassis_grace_period, and should be far longer than '
             'any maintenance of a node. The agent reads the answers from '
             'OVN only when this option is set, so a change takes a restart '
             'of the agent. 0: off, and also off if '
             'stale_chassis_grace_period is 0.'),
]
