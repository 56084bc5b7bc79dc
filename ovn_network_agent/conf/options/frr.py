# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[frr]: the routing daemon that speaks BGP."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'frr'

OPTS = [
    cfg.Opt(
        'vrf_name', type=types.InterfaceName(empty=True),
        default='vrf-provider',
        help='VRF device that has the uplink, and in which FRR speaks BGP. '
             'Empty means that BGP runs in the default VRF: FRR then '
             'announces addresses from there, and the veth leak is off.'),
    cfg.Opt(
        'frr_prefix_list', type=types.Name(empty=True),
        default='ANNOUNCED-NETWORKS', mutable=True,
        help='Prefix list of FRR that the agent keeps filled with the '
             'provider networks of its routers, as "permit <network> ge 32 '
             'le 32". Use the list as outbound filter of the BGP neighbours. '
             'The entries of the agent have sequence numbers from 1000000000 '
             'to 1999999999, and entries of others stay. Empty means that '
             'the agent manages no prefix list. After a reload with another '
             'name, the agent first fills the new list and then removes its '
             'entries from the former list.'),
    cfg.Opt(
        'vtysh_timeout', type=types.Integer(1, 600), default=10,
        help='Seconds after which a vtysh process is killed with all its '
             'children. The pass then reports an error and is repeated.'),
    cfg.StrOpt(
        'vtysh_wrapper', default='',
        help='Command that is put before vtysh, split at blanks, like '
             '"docker exec -i frr". The command has to pass standard input '
             'on, and runs with privileges. Empty (the default) means no '
             'command.'),
    cfg.StrOpt(
        'bgp_soft_refresh', default='on-removal', mutable=True,
        choices=[
            ('always', 'after every change of the announcements'),
            ('on-removal', 'only after something was withdrawn'),
            ('never', 'never; FRR announces and withdraws by itself')],
        help='When to tell FRR to send its routes to all neighbours of the '
             'VRF again ("clear bgp ... soft out"). Additions do not need a '
             'refresh: FRR 8.4 announced them as fast without one. With FRR '
             '8.4 a refresh after an addition can do harm: a route that was '
             'refreshed in the first second of a BGP session and withdrawn '
             'right after was never withdrawn from the neighbour.'),
    cfg.BoolOpt(
        'bgp_check', default=True,
        help='Whether the agent checks, after each change and at each '
             'reconcile_interval, that bgpd has the announced addresses and '
             'sends them to a neighbour. The log and the status say which '
             'addresses are missing, and why. Turn the check off if another '
             'routing protocol of FRR announces the addresses. The agent '
             'checks in any case that zebra has the addresses. After a '
             'gateway port has moved here, this check also provides the '
             'proof that lets the former owner stop announcing. With the '
             'check off, the proof is that zebra has the routes; without '
             'vtysh (announce_method kernel, with another program than FRR '
             'that announces) the proof is that the kernel has the routes. '
             'With the check on and neither vtysh nor the sockets in '
             'frr_run_dir there is never a proof, and the former owner waits '
             'for its drain_timeout or handover_timeout.'),
    cfg.BoolOpt(
        'frr_watch', default=True,
        help='Whether the agent notices within three seconds that a daemon '
             'of FRR was restarted, and within a second that others have '
             'changed the prefix list, or the VNIs of the driver evpn, and '
             'restores what is missing. Off: '
             'the agent restores it at the next reconcile_interval.'),
    cfg.StrOpt(
        'frr_run_dir', default='/run/frr',
        help='Directory with the vty sockets of FRR. frr_watch notices a '
             'restart by these sockets, and the agent writes static routes '
             'and asks zebra and bgpd there without a vtysh process, which '
             'is three times faster. If '
             'FRR runs in a container (vtysh_wrapper), set the path at which '
             'this node sees FRR\'s run directory; the agent then writes '
             'and asks through vtysh.'),
]
