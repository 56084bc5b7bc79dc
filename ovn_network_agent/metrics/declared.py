# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The metrics: name, type, labels and meaning of each.  Pure.

``doc/source/reference/metrics.rst`` is made from this module, and the alert
rules and the dashboard use no other name.  A metric with a counterpart in the
original Go program has its name and meaning.
"""

from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

from ovn_network_agent import ownership

PREFIX = 'ovn_network_agent_'


#: At a scrape: a number, or numbers by the values of the labels, a tuple; None
#: while unknown.
Gauge = float | Mapping[Any, float] | None
Gauges = Mapping[str, Gauge]


class Kind(enum.Enum):
    """The type of a metric, in the words of Prometheus."""

    COUNTER = 'counter'
    GAUGE = 'gauge'
    HISTOGRAM = 'histogram'


@dataclasses.dataclass(frozen=True, slots=True)
class Metric:
    """One metric."""

    name: str  # without :data:`PREFIX`
    kind: Kind
    text: str  # Meaning, full sentences; also says when a series is missing.
    # By label the values; none if these depend on the node.
    labels: Mapping[str, tuple[str, ...]] = dataclasses.field(
        default_factory=dict)
    buckets: tuple[float, ...] = ()  # upper bounds of a histogram, seconds

    @property
    def full(self) -> str:
        """The name that Prometheus sees."""
        return PREFIX + self.name

    @property
    def series(self) -> tuple[str, ...]:
        """All names of series."""
        if self.kind is Kind.HISTOGRAM:
            return tuple(self.full + end
                         for end in ('_bucket', '_sum', '_count'))
        return (self.full,)


def _counter(name: str, text: str, **labels: tuple[str, ...]) -> Metric:
    return Metric(name, Kind.COUNTER, text, labels)


def _gauge(name: str, text: str, **labels: tuple[str, ...]) -> Metric:
    return Metric(name, Kind.GAUGE, text, labels)


def _histogram(name: str, text: str, buckets: tuple[float, ...],
               **labels: tuple[str, ...]) -> Metric:
    return Metric(name, Kind.HISTOGRAM, text, labels, buckets)


TRIGGERS = ('event', 'periodic', 'startup', 'stop')
PLANES = ('kernel', 'frr')
FLOWS = ('hairpin', 'mactweak', 'relay', 'other')
RESULTS = ('success', 'error')
DRAINS = ('completed', 'timeout', 'error', 'nobody', 'noop')
DATABASES = ('nb', 'sb', 'ovs')
PHASES = ('restoring', 'running', 'draining', 'stopped')
VIPS = ('announced', 'dormant', 'down', 'refused', 'waiting')
ANNOUNCEMENTS = ('announced', 'missing')
VERBS = ('created', 'updated', 'deleted')
LEVELS = ('warning', 'error', 'critical')
VETH = (ownership.VETH_DEFAULT, ownership.VETH_PROVIDER)
DIRECTIONS = ('received', 'sent')
FAMILIES = ('ipv4', 'ipv6')
VNI_PARTS = ('devices', 'frr')
LOCKS = ('held', 'waiting', 'not connected')
PROBES = ('ready', 'unready', 'refused', 'timeout', 'error')
PEERINGS = ('pending', 'created', 'conflict', 'error')

_PASS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_ANNOUNCE = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10)
_DRAIN = (0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)
_BACKEND = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30)

_AGENT = (
    _gauge('build_info', 'The version of the agent; always 1.', version=()),
    _gauge('ready', '1 while "/readyz" answers 200, else 0.'),
    _gauge('degraded_reasons',
           'Number of reasons why the agent is degraded. The command '
           '"ovn-network-agent-ctl status" names them. Missing before the '
           'first pass.'),
    _gauge('phase', '1 for the present phase of the agent, else 0.',
           phase=PHASES),
    _counter('config_reload_total', 'Reloads of the configuration (SIGHUP).',
             result=RESULTS),
    _counter('log_messages_total',
             'Lines of the log since the start of the agent, by level. Lines '
             'of the privileged daemons count when the agent logs them.',
             level=LEVELS),
)

_PASSES = (
    _counter('reconcile_total',
             'Completed passes. "startup": before the first complete pass; '
             '"periodic": full comparisons after reconcile_interval; "stop": '
             'in a drain and in the clean-up; "event": all others.',
             trigger=TRIGGERS),
    _counter('reconcile_failures_total',
             'Passes that an error ended. The last good state stays.'),
    _histogram('reconcile_duration_seconds',
               'Duration of a pass, failed passes included, the passes of '
               'the clean-up not.', _PASS),
    _gauge('reconcile_in_progress', '1 during a pass, else 0.'),
    _gauge('last_reconcile_timestamp_seconds',
           'Time of the end of the last completed pass, seconds since 1970. '
           'Missing before the first pass.'),
    _gauge('reconcile_interval_seconds',
           'The option reconcile_interval: the longest time between two full '
           'comparisons of an agent without other work.'),
    _counter('changes_total', 'Objects that the agent made, changed or '
             'removed, by kind of resource.', kind=(), verb=VERBS),
)

_ANNOUNCING = (
    _gauge('desired_ips',
           'Addresses that this node should announce now: floating IPs, '
           'addresses of gateways, VIPs that FRR announces, machines on '
           'provider networks, each VNI of its own, and networks of tenants, '
           'each of which counts as one.'),
    _gauge('announced_ips',
           'Addresses among desired_ips whose announcement is in place: '
           'written, and not known to be missing. During a takeover the '
           'number may be a second late.'),
    _gauge('announcements',
           'The addresses of desired_ips by driver: in place ("announced"), '
           'or not yet ("missing"). An address that two drivers want counts '
           'for the first one by name. No series for a driver that has had no '
           'address.',
           driver=(), state=ANNOUNCEMENTS),
    _gauge('withdrawals_held',
           'Addresses that the withdrawal guard keeps announced, although no '
           'driver wants them any more. Missing before the first pass.'),
    _gauge('inactive_routes',
           'Announced addresses that zebra or bgpd twice in a row did not '
           'have as they should be. Missing while FRR cannot be asked, and '
           'before the first check.'),
    _histogram('failover_announce_seconds',
               'Time from the event of a gateway port that moves here to its '
               'last announcement on this node.', _ANNOUNCE),
    _histogram('announce_seconds',
               'Time from the event to the announcement on this node, one '
               'observation for each pass that announced addresses after an '
               'event, takeovers included. If FRR takes longer than a pass '
               'waits, the time counts from the first event of this wait.',
               _ANNOUNCE),
    _counter('takeovers_total',
             'Takeovers with at least one announced address.'),
    _gauge('vrf_default_route_present',
           '1 if the VRF of the uplink has a default route, else 0. Missing '
           'without a VRF, and while the answer is not known.'),
    _counter('veth_packets_total',
             'Packets of the two ends of the veth pair, as the kernel counts '
             'them, from the creation of the pair. Many more than on the '
             'uplink are a loop between the VRFs. Missing without the device, '
             'and while the kernel cannot be asked.',
             device=VETH, direction=DIRECTIONS),
    _counter('veth_dropped_total',
             'The same for packets that an end of the pair dropped.',
             device=VETH, direction=DIRECTIONS),
    _gauge('neighbour_entries',
           'Entries of the table of neighbours of the kernel. Missing, as the '
           'two below, in another network namespace than the first one of the '
           'kernel.', family=FAMILIES),
    _gauge('neighbour_limit',
           'The most entries, gc_thresh3. The kernel drops the packets of an '
           'address that finds no room.', family=FAMILIES),
    _counter('neighbour_overflows_total',
             'Times that the kernel found no room, since its boot.',
             family=FAMILIES),
    _counter('nexthop_repairs_total',
             'Times that the address of the veth pair was set again, because '
             'zebra did not know its network.'),
)

_GATEWAYS = (
    _gauge('local_routers', 'Routers with a gateway port on this node.'),
    _gauge('gateway_ports_here', 'Gateway ports on this node.'),
    _gauge('effective_networks',
           'Provider networks of the gateway ports on this node, or those of '
           'the option network_cidr.'),
    _gauge('localnet_segments',
           'Provider segments of the gateway ports on this node.'),
    _gauge('gateway_groups',
           'Gateway groups that this node is a candidate of, by the state of '
           'this node in the group. Missing while OVN has not been seen.',
           state=()),
    _gauge('gateway_port_served',
           '1 if this node has to announce the addresses of the gateway port '
           '(the port is here, or has left and the next owner does not '
           'announce yet), else 0. One series for each port of a group that '
           'this node is a candidate of.', port=()),
    _gauge('drains_requested',
           'Drains that an operator has asked for on this node: 1 for the '
           'whole node, or 1 for each router.'),
    _counter('drain_total', 'Drains of an agent that stops, by result.',
             result=DRAINS),
    _histogram('drain_duration_seconds',
               'Duration of such a drain, noop excluded.', _DRAIN),
    _gauge('missing_chassis',
           'Chassis that have routes of agents in OVN and are gone for good.'),
    _counter('stale_chassis_cleanup_total',
             'Routes of such chassis: removed ("success"), or refused by OVN '
             '("error", once for each route as long as it is refused).',
             result=RESULTS),
)

_SYSTEMS = (
    _gauge('ovn_connection_state',
           '1 while the agent is connected to the database and has loaded it, '
           'else 0. No series without OVN.', db=DATABASES),
    _gauge('lock_state',
           '1 for the present state of the lock of OVN_Northbound by which '
           'one agent alone writes the rows of a driver, else 0. The sum of '
           '"held" over all agents is 1, as soon as one of them has had '
           'something to write. Missing on an agent that has had nothing.',
           lock=(), state=LOCKS),
    _gauge('backend_readable',
           '1 if the last attempt to read or reach the system of a backend '
           'succeeded, else 0: then all metrics about its objects are the '
           'last known state. Missing before the first pass.', backend=()),
    _counter('backend_failures_total',
             'Times that a backend became unreadable.', backend=()),
    _histogram('backend_read_seconds',
               'Time that a reading of the objects of a backend took, until '
               'the agent had the result. Failed readings count, too.',
               _BACKEND, backend=()),
    _histogram('backend_apply_seconds',
               'Time that the changes of a backend took in a pass.',
               _BACKEND, backend=()),
    _gauge('failed_resources',
           'Objects that are not as desired after the last pass, by kind of '
           'resource. Missing before the first pass.', kind=()),
    _gauge('drivers_broken',
           'Drivers that raised an error in the last pass, each router '
           'counted. Missing before the first pass.'),
    _gauge('left_out',
           'Statements of drivers about something that they leave out, after '
           'the last pass. Missing before the first pass.'),
    _counter('frr_restarts_total', 'Restarts of daemons of FRR.'),
    _counter('ovs_restarts_total', 'Restarts of Open vSwitch.'),
)

_DRIFT = (
    _counter('repairs_total',
             'Objects that others removed or changed, and that the agent '
             'restores, by kind of resource.', kind=()),
    _counter('route_drift_total',
             'The same for routes of the kernel ("kernel") and for static '
             'routes of FRR ("frr").', plane=PLANES),
    _counter('ovs_flow_drift_total', 'The same for flows.', flow=FLOWS),
    _gauge('consecutive_readds',
           'Readings of a backend in a row that found such objects.',
           backend=()),
    _gauge('vnis_desired',
           'VNIs that this node should have, by part: their devices, and '
           'their lines in FRR.', part=VNI_PARTS),
    _gauge('vnis_installed',
           'VNIs among vnis_desired that were there, as desired, at the last '
           'reading or change.', part=VNI_PARTS),
    _gauge('hairpin_flows_desired', 'Hairpin flows that should be there.'),
    _gauge('hairpin_flows_installed',
           'Hairpin flows that were there, as desired, at the last reading '
           'or change.'),
    _counter('ovs_flow_apply_errors_total',
             'Flows that Open vSwitch refused, or could not be asked for; '
             'once for each flow as long as it fails.', flow=FLOWS),
)

_VIPS = (
    _gauge('vips',
           'VIPs of port forwards by state. This and the other metrics of '
           'VIPs are missing while the agent cleans up at its end.',
           state=VIPS),
    _gauge('announced_vips', 'VIPs that this node announces.'),
    _gauge('vip_announced', '1 if this node announces the VIP, else 0.',
           address=()),
    _gauge('vip_backends', 'Destinations of a rule of a VIP.',
           address=(), proto=(), port=()),
    _gauge('vip_backends_alive',
           'Destinations of a rule of a VIP that are alive. No series for a '
           'rule without a health check.', address=(), proto=(), port=()),
)

_PEERS = (
    _gauge('network_peer_intents',
           'Intents of routers to peer inside OVN, by state. Both sides of a '
           'peering count, and each agent with the driver network_peer counts '
           'all of them. Missing without this driver, and before OVN has been '
           'seen.',
           state=PEERINGS),
)

# In the order of the page, with the title of each part.
_EGRESS = (
    _gauge('egress_ip_places',
           'Routers, gateway ports and nodes that need an egress address, by '
           'state. Each agent with the driver egress_ip counts all of them. '
           'Missing without this driver, and before OVN has been seen.',
           state=('assigned', 'unassigned')),
    _gauge('egress_ip_machines',
           'Addresses of machines that are selected, by state: those that '
           'leave with an egress address, and those that are left out. As '
           'egress_ip_places.',
           state=('leaving', 'left_out')),
    _counter('egress_ip_failovers_total',
             'Egress addresses that this agent has given to another node, '
             'gateway port or router than before. A gateway that moves with '
             'its addresses in OVN (modes "router" and "ecmp") does not '
             'count. Only the agent that writes the rows counts.'),
    _gauge('egress_probe_listening',
           '1 if this agent listens for the health probe on the address of '
           'its tunnels, else 0. No series without the driver egress_ip, and '
           'with probe_port 0; so the two below.', address=()),
    _counter('egress_probes_total',
             'Health probes of this agent to the agents of chassis that can '
             'have egress addresses, one for each chassis and round, by '
             'result: the agent works; it says that it does not; its node '
             'refuses the connection; no answer within the second; anything '
             'else, such as TLS. Only the agent that writes the rows asks.',
             result=PROBES),
    _gauge('egress_chassis_reachable',
           '0 if the agent of the chassis counts as dead after these probes, '
           'else 1. No series on an agent that does not write the rows.',
           chassis=()),
)

PARTS: tuple[tuple[str, tuple[Metric, ...]], ...] = (
    ('The agent', _AGENT), ('Passes', _PASSES),
    ('Announcements', _ANNOUNCING), ('Gateways', _GATEWAYS),
    ('Systems', _SYSTEMS), ('Drift', _DRIFT), ('Port forwards', _VIPS),
    ('Peerings', _PEERS), ('Egress addresses', _EGRESS))
METRICS = tuple(metric for _title, part in PARTS for metric in part)
