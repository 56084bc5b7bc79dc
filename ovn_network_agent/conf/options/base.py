# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[DEFAULT] and [agent]: options of the agent and its bridge."""

from oslo_config import cfg

from ovn_network_agent.conf import types

PROJECT = 'ovn-network-agent'
GROUP = 'DEFAULT'

OPTS = [
    cfg.Opt(
        'drivers',
        type=types.CommaList(types.Name(type_name='driver name')),
        default=['fip_route', 'veth_leak', 'gateway_drain', 'port_forward'],
        help='Drivers to load, in any order: the names of entry points in '
             'the namespace "ovn_network_agent.drivers". Beside the default, '
             'there are "provider_port", for machines on provider networks, '
             '"tenant_network", for networks of tenants without NAT, '
             '"load_balancer", for virtual IPs, "evpn", for VNIs, '
             '"network_peer", for peerings of routers, and "egress_ip", for '
             'addresses with which machines leave. When a driver is '
             'removed from this list, the next start removes everything that '
             'the driver made, but for peerings and egress addresses in OVN, '
             'which the other agents want. An unknown, failing or doubly '
             'named driver prevents the start.'),
    cfg.Opt(
        'bridge_dev', type=types.InterfaceName(), default='br-ex',
        help='Provider bridge: the OVS bridge that "ovn-bridge-mappings" '
             'names, and the kernel device of the same name. The bridge must '
             'exist when the agent starts.'),
    cfg.Opt(
        'further_bridges', type=types.CommaList(types.InterfaceName()),
        default=[],
        help='Further provider bridges that the agent serves as it serves '
             'bridge_dev, comma-separated: bridges that '
             '"ovn-bridge-mappings" names, too. The agent leaves all other '
             'bridges alone. Empty (the default) means bridge_dev alone. '
             'bridge_dev should carry the same physical network on all '
             'gateway nodes. The bridges must exist when the agent starts.'),
    cfg.Opt(
        'driver_devices', type=types.CommaList(types.InterfaceName()),
        default=[],
        help='Further devices that drivers of other projects may change. The '
             'privileged side of the agent refuses any device that no option '
             'names for the requested change. The drivers of this project '
             'need no device here.'),
    cfg.Opt(
        'bridge_ip', type=types.IPv4Address(empty=True),
        default='169.254.169.254',
        help='Address that the agent puts on bridge_dev, and on the device of '
             'each other provider network, as a /32, so that the kernel '
             'has a source for its ARP requests there. The '
             'default is also the address of the metadata service: choose '
             'another address if a metadata proxy listens in the root '
             'namespace. Set the option to nothing to manage the address by '
             'other means.'),
    cfg.Opt(
        'network_cidr', type=types.CommaList(types.IPNetwork()),
        default=[],
        help='Provider networks, comma-separated, like "198.51.100.0/24, '
             '2001:db8:100::/64". Empty (the default) means that the agent '
             'discovers the networks from the gateway ports of the routers '
             'on this chassis. A list replaces the discovery completely, for '
             'IPv4 and IPv6: addresses outside the list are not handled. So '
             'a list without a network of IPv6 switches IPv6 off, except for '
             'VIPs and for flows.'),
    cfg.Opt(
        'gateway_port', type=types.PortName(), default='',
        help='Name of the one chassisredirect port to follow, like '
             '"cr-lrp-4f1c...". Empty (the default) means all routers whose '
             'gateway port is on this chassis.'),
    cfg.Opt(
        'reconcile_interval', type=types.Integer(1, 86400), default=60,
        mutable=True,
        help='Seconds between two full comparisons of the desired state with '
             'the actual state. A full comparison repairs what others '
             'changed or removed. Changes in OVN do not wait for a full '
             'comparison.'),
    cfg.Opt(
        'event_coalesce', type=types.Seconds(max=60), default=0.05,
        help='Under load, seconds in which events are collected before the '
             'next pass. An event that finds the agent idle never waits, and '
             'neither does the move of a gateway port. 0 makes a pass of '
             'every wake-up.'),
    cfg.Opt(
        'withdrawal_guard_percent', type=types.Integer(0, 100), default=50,
        mutable=True,
        help='Percent of the announced addresses. If a pass would withdraw '
             'more than this share, it waits until both servers of OVN have '
             'confirmed the loss and the databases agree with each other. '
             'Addresses that another gateway node has are withdrawn at once, '
             'and neither a drain nor a stop waits. 100 turns the guard '
             'off.'),
    cfg.Opt(
        'withdrawal_guard_minimum', type=types.Integer(1, 1000000),
        default=10, mutable=True,
        help='Number of addresses. withdrawal_guard_percent has no effect on '
             'a pass that would withdraw fewer addresses than this.'),
    cfg.BoolOpt(
        'cleanup_on_shutdown', default=True, mutable=True,
        help='Whether an orderly stop (SIGTERM, SIGINT) withdraws and '
             'removes everything that the agent made on this node and in '
             'OVN. Set the option to false to keep forwarding during a '
             'restart or an upgrade: the next start adopts what it finds.'),
    cfg.StrOpt(
        'log_level', default='info', mutable=True, ignore_case=True,
        choices=[('debug', 'everything; the same as "debug = true"'),
                 ('info', 'changes'),
                 ('warn', 'problems'),
                 ('error', 'failures')],
        help='Lowest severity of messages in the log. "debug = true" takes '
             'precedence.'),
    cfg.Opt(
        'shutdown_timeout', type=types.Integer(1, 3600), default=60,
        mutable=True,
        help='Seconds that the clean-up of an orderly stop may take before '
             'the agent gives up, names the remaining objects, and exits. '
             'The supervisor has to wait longer than this and '
             '[gateway_drain] drain_timeout together: TimeoutStopSec of '
             'systemd, "docker stop -t" of a container.'),
    cfg.Opt(
        'control_socket', type=types.SocketPath(),
        default='/run/ovn-network-agent/control.ctl',
        help='Unix socket on which the agent takes commands: '
             '"ovn-network-agent-ctl", "ovs-appctl -t". Only root and the '
             'user of the agent can use the socket. The agent makes the '
             'directory of the socket if the directory is missing, but not '
             'the directory above. Two agents on one machine need two '
             'sockets. Set the option to nothing to have no socket.'),
]

# The hyphen is for the command line; elsewhere the name is dry_run.
CLI_OPTS = [
    cfg.BoolOpt(
        'dry-run', default=False,
        help='Only log what would be done. Nothing is written anywhere, not '
             'even in the OVN databases.'),
]

CLI_ONLY_OPTS = [
    cfg.BoolOpt(
        'check-config', default=False,
        help='Check the configuration, print all mistakes, and exit without '
             'connecting to anything.'),
    cfg.BoolOpt(
        'strict', default=False,
        help='With --check-config: end with status 2 also for a warning, '
             'such as a misspelt option.'),
]

AGENT_GROUP = 'agent'

AGENT_OPTS = [
    cfg.Opt(
        'root_helper', type=types.Command(), default='sudo -n',
        help='Command in front of "privsep-helper" where the agent has not '
             'the capabilities itself: "sudo -n", or "sudo" with a rootwrap '
             'and its configuration. The command has to end after the start '
             'of the helper, must not ask for a password, and has to permit '
             'the helper with all its arguments. An agent with the '
             'capabilities forks its daemons and does not use the command. '
             'The helper_command of a daemon\'s own section has precedence.'),
    cfg.StrOpt(
        'root_helper_daemon',
        help='Has no effect, and a value is warned of. Neutron runs many '
             'commands through a rootwrap daemon; this agent runs none. Each '
             'of its privileged daemons starts once and stays. The option '
             'exists so that a section written for Neutron is no mistake.'),
]
