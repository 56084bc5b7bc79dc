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

"""[frr]: the routing daemon that speaks BGP."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'frr'

OPTS = [
    cfg.Opt(
        'vrf_name', type=types.InterfaceName(empty=True),
        default='vrf-provider',
        help='VRF device in which the uplink is and FRR speaks BGP. Empty '
             'means that BGP runs in the default VRF: addresses are then '
             'announced from there and the veth leak is off.'),
    cfg.Opt(
        'frr_prefix_list', type=types.Name(empty=True),
        default='ANNOUNCED-NETWORKS',
        help='Prefix list of FRR that the agent keeps filled with the '
             'provider networks of its routers, as "permit <network> ge 32 '
             'le 32". Use it as outbound filter of the BGP neighbours. Its '
             'entries have sequence numbers from 1000000000 to 1999999999, '
             'and those of others stay. Empty means that no prefix list is '
             'managed.'),
    cfg.Opt(
        'vtysh_timeout', type=types.Integer(1, 600), default=10,
        help='Seconds after which a vtysh process is killed with all its '
             'children. The pass then reports an error and is repeated.'),
    cfg.StrOpt(
        'vtysh_wrapper', default='',
        help='Command that is put before vtysh, split at blanks, like '
             '"docker exec -i frr". It has to pass standard input on and '
             'runs with privileges. Empty (the default) means none.'),
    cfg.StrOpt(
        'bgp_soft_refresh', default='on-removal',
        choices=[
            ('always', 'after every change of what is announced'),
            ('on-removal', 'only after something was withdrawn'),
            ('never', 'never; FRR announces and withdraws by itself')],
        help='When to tell FRR to send its routes to all neighbours of the '
             'VRF again ("clear bgp ... soft out"). Additions do not need '
             'it: with FRR 8.4 they were announced as fast without. After '
             'an addition it can do harm there: a route that was refreshed '
             'in the first second of a BGP session and withdrawn right '
             'after was never withdrawn from the neighbour.'),
    cfg.BoolOpt(
        'bgp_check', default=True,
        help='Look after each change, and at each reconcile_interval, '
             'whether bgpd has the announced addresses and sends them to a '
             'neighbour; what is missing, and why, is in the log and in the '
             'status. Turn it off where another routing protocol of FRR '
             'announces them. Whether zebra has them is looked at anyhow. '
             'After a gateway has moved here, this is also what proves to '
             'the former one that it may stop announcing: with the check '
             'off, zebra having the routes has to do, and where there is no '
             'vtysh (announce_method kernel, with another program than FRR '
             'that announces) the kernel having them. With the check on and '
             'no vtysh nothing is ever proved, and the other gateway waits '
             'for its drain_timeout or handover_timeout.'),
    cfg.BoolOpt(
        'frr_watch', default=True,
        help='Notice within three seconds that a daemon of FRR was started '
             'again, and restore what it has forgotten. Off: at the next '
             'reconcile_interval.'),
    cfg.StrOpt(
        'frr_run_dir', default='/run/frr',
        help='Directory with the vty sockets of FRR. By them frr_watch '
             'notices a restart, and static routes are written there without '
             'a vtysh process, which is three times faster. Where FRR runs '
             'in a container (vtysh_wrapper), the path at which its run '
             'directory can be seen from here; vtysh is used to write '
             'then.'),
]
