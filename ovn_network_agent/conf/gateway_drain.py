# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""[gateway_drain]: leaving a gateway, and what others left behind."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'gateway_drain'

OPTS = [
    cfg.BoolOpt(
        'drain_on_shutdown', default=True, mutable=True,
        help='Whether an orderly stop (SIGTERM, SIGINT) first hands all '
             'gateways over to other chassis. Off, a stop withdraws at once, '
             'and the gateways stay on this chassis as far as OVN is '
             'concerned.'),
    cfg.Opt(
        'drain_timeout', type=types.Seconds(max=86400), default=60,
        mutable=True,
        help='Seconds that the drain of an orderly stop may take. This node '
             'goes on announcing and forwarding until everything has been '
             'taken over or time is up; then it cleans up in any case, for '
             'which shutdown_timeout counts. It also waits so long for the '
             'agent of another gateway that was stopped, too, and may be '
             'starting. A second signal ends the wait. '
             'The supervisor has to wait longer than the sum of both.'),
    cfg.Opt(
        'drain_settle_delay', type=types.Seconds(max=3600), default=0.5,
        mutable=True,
        help='Seconds to go on announcing after the agent of the new owner '
             'has proved that BGP advertises the addresses there, until the '
             'whole fabric has heard of it.'),
    cfg.Opt(
        'handover_timeout', type=types.Seconds(max=86400), default=30,
        mutable=True,
        help='When a gateway leaves this chassis for any other reason than a '
             'stop: seconds to go on announcing its addresses and relaying '
             'what arrives to the new owner, as long as that has not proved '
             'that it announces them itself. 0: let go at once.'),
    cfg.StrOpt(
        'restore', default='standby', mutable=True,
        choices=[
            ('standby', 'the lowest priority that is not drained, 1'),
            ('ordered', 'the priority it had before it was drained, but '
                        'below that of the chassis that has the gateway')],
        help='What priority this chassis gets back in gateway groups that it '
             'was drained of, once its agent has started or the drain has '
             'been undone. It never takes the gateway back by that. With '
             '"standby" all standbys are equal after each has been drained '
             'once, and OVN takes the one whose name sorts last. "ordered" '
             'keeps the order that Neutron gave them.'),
    cfg.BoolOpt(
        'relay', default=True,
        help='Whether to make tunnel ports between the provider bridges of '
             'gateways that share routers. OVN drops what arrives for a '
             'router on a chassis that does not have its gateway any more; '
             'through the tunnel it reaches the one that has it. Without, '
             'a gateway that has left is let go at once.'),
    cfg.BoolOpt(
        'standby_needs_bgp', default=True,
        help='Whether a standby of which BGP could not announce anything has '
             'priority 0 in its gateway groups until it could, so that no '
             'drain goes there. That is so when zebra, bgpd, or staticd with '
             'announce_method static, of FRR do not run, or when neighbours '
             'are activated for IPv4 unicast in the BGP instance of [frr] '
             'vrf_name and none of them is established, for 3 seconds; and '
             'over when all is well for 5. Without an activated neighbour, '
             'without vtysh, with [frr] bgp_check off, and as long as FRR '
             'does not answer, nothing is concluded. A chassis that has the '
             'gateway keeps it.'),
    cfg.BoolOpt(
        'overlap', default=True, mutable=True,
        help='Whether a drain of all gateways of this chassis has the next '
             'owners take over before this one lets go, so that no packet '
             'meets a gateway that does not have it. For that the local '
             'ovn-controller is paused (debug/pause) for 2 to 4 seconds, BFD '
             'between this chassis and the other gateways is interrupted, '
             'and ovn-controller then connects to the Southbound database '
             'anew. A program of its own undoes all that when the agent '
             'dies, and after 12 seconds in any case. Needs OVN 23.03 or '
             'later, the control socket of ovn-controller, see [ovs] '
             'ovn_rundir, and ovsdb_connection without SSL; where that is '
             'missing, the status says so, and a drain goes on without '
             'after 3 seconds.'),
    cfg.Opt(
        'stale_chassis_grace_period', type=types.Seconds(max=604800),
        default=300, mutable=True,
        help='Seconds after which the default routes and MAC bindings that '
             'the agent of another chassis wrote are removed from OVN, once '
             'the Southbound database has no chassis of its host name any '
             'more. Up to 30 seconds come on top, another number in each '
             'agent, so that not all of them do it at once. Time without a '
             'complete view of OVN does not count, and a chassis that '
             'returns is forgotten. The driver fip_route does this, with or '
             'without gateway_drain. 0: never.'),
    cfg.Opt(
        'silent_chassis_limit', type=types.Seconds(max=2592000), default=0,
        help='Seconds after which a chassis that has fallen silent counts as '
             'one that the Southbound database does not have any more, and '
             'stale_chassis_grace_period begins. A killed ovn-controller '
             'leaves its chassis there, and nothing else tells it from one '
             'that lives. Silent is who has not answered the last increase '
             'of nb_cfg for as long, while this chassis has, and whose last '
             'answer is as much older than the newest of all. Neutron '
             'raises nb_cfg when its agents are listed; where nobody does '
             'that, nobody is silent. A chassis with a gateway port never '
             'is. Must not be shorter than stale_chassis_grace_period, and '
             'should be far longer than any maintenance of a node. The '
             'answers are read from OVN only when this is set, so a change '
             'takes a restart of the agent. 0: off, and also off where '
             'stale_chassis_grace_period is 0.'),
]
