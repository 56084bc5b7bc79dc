# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Why an option needs a restart, in words."""

from oslo_config import cfg

_START = 'is read at the start only'
_WALL = ('the privileged side keeps to the values with which it was started')
_CONNECTED = 'the connections are made at the start'
_LOADED = 'plugins are loaded at the start'
_WATCHED = 'what the agent watches and prepares is chosen at the start'

# By section and option, or by section.
REASONS: dict[tuple[str, ...], str] = {
    ('DEFAULT', 'drivers'): _LOADED,
    ('DEFAULT', 'bridge_dev'): _WALL,
    ('DEFAULT', 'further_bridges'): _WALL,
    ('DEFAULT', 'bridge_ip'): _WALL,
    ('DEFAULT', 'driver_devices'): _WALL,
    ('DEFAULT', 'network_cidr'): _WALL,
    ('DEFAULT', 'gateway_port'): _WATCHED,
    ('DEFAULT', 'event_coalesce'): 'the loop is made at the start',
    ('DEFAULT', 'dry_run'): 'a dry run is one pass, and ends after that',
    ('DEFAULT', 'control_socket'): 'the socket is made at the start',
    ('announce', 'advertised_routes'): _WATCHED,
    ('agent',): 'a privileged daemon starts once',
    ('frr', 'vrf_name'): _WALL,
    ('frr', 'vtysh_wrapper'): _WALL,
    ('frr', 'vtysh_timeout'): _WALL,
    ('frr', 'frr_run_dir'): _WALL,
    ('frr', 'bgp_check'): _WATCHED,
    ('frr', 'frr_watch'): _WATCHED,
    ('fip_route', 'route_table_id'): _WALL,
    ('fip_route', 'route_rule_priority'): _WALL,
    ('ovn',): _CONNECTED,
    ('ovs', 'ovs_rundir'): _WALL,
    ('ovs', 'ovn_rundir'): _WALL,
    ('ovs', 'ovs_wrapper'): _WALL,
    ('ovs',): _CONNECTED,
    ('gateway_drain',): _WATCHED,
    ('metrics',): 'the listener is made at the start',
    ('port_forward', 'rules_file'): (
        'only a start looks whether the node can forward ports; the name of '
        'the file may change, but port forwarding begins and ends at a start'),
    ('port_forward',): _WALL,
    ('tenant_network', 'advertisement_method'): _WATCHED,
    ('tenant_network', 'extra_routes'): _WATCHED,
    ('evpn',): _WALL,
    ('egress_ip',): 'all agents of a cloud have to agree',
    ('network_peer',): 'all agents of a cloud have to agree',
    ('veth_leak',): _WALL,
}


def reason(section: str, option: cfg.Opt) -> str:
    """Why a change of an option waits for a restart."""
    return (REASONS.get((section, option.dest)) or
            REASONS.get((section,), _START))
