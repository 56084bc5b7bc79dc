# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Frozen values that the runner and the judge of a chaos run share.

All times are seconds of ``time.monotonic()``.
"""

import dataclasses

# Subjects of excuses: every probe; otherwise the subject of one target.
ALL = '*'

# Kinds of violations.  The judge reports all but the last two.
ORACLE = 'oracle'      # a node or the spine is not as NB and SB demand
DOUBLE = 'double'      # two gateways announce one address
RANK = 'rank'          # an owner does not outrank its peers
FOREIGN = 'foreign'    # an object of the operator was changed
LEAK = 'leak'          # a packet left by the management network
GROWTH = 'growth'      # descriptors, threads, memory or rows grow
PROBE = 'probe'        # a target does not answer in the end
ACTION = 'action'      # an action could not be carried out or undone
AGENT = 'agent'        # an agent ended, or is not in sync, in the end
KINDS = (ORACLE, DOUBLE, RANK, FOREIGN, LEAK, GROWTH, PROBE, ACTION, AGENT)


@dataclasses.dataclass(frozen=True)
class Profile:
    """The kind of cloud of a run."""

    name: str
    what: str
    gateways: int = 2
    # Announce method of each gateway ('static', 'kernel'), one for each node:
    # gw1, gw2, ...
    methods: tuple = ('static', 'static')
    scheduler: str = 'gateway_chassis'
    # Name of the VRF of the fabric, '' for the default VRF
    vrf: str = 'vrf-provider'
    routers: int = 2
    forwards: bool = True
    # When gateways announce VIPs: 'always' or 'with-gateway'
    announce: str = 'always'
    ovn: bool = True  # whether agents have OVN, routers and floating IPs
    bfd: bool = True
    probe_interval: float = 0.02
    # Share of the probes that may be lost without excuse
    loss_limit: float = 0.003
    without: tuple = ()  # names of actions that make no sense in this cloud


@dataclasses.dataclass(frozen=True)
class Gateway:
    """How a gateway node is meant to be now."""

    name: str
    powered: bool = True
    # 'running', 'stopped' (an orderly stop, nothing may be left), 'killed'
    # (objects stay) or 'paused' (objects stay)
    agent: str = 'running'
    method: str = 'static'  # announce method of the agent, as configured now
    drained: bool = False  # whether the operator wants all routers to leave
    vips: tuple = ()  # tuple of :class:`Vip` that its rules file has now


@dataclasses.dataclass(frozen=True)
class Fip:
    """A floating IP."""

    address: str
    router: str
    inside: str
    # Name of the node of the machine, '' for a fixed address without a machine
    machine: str = ''


@dataclasses.dataclass(frozen=True)
class Vip:
    """An anycast address with one rule of port forwarding."""

    address: str
    port: int
    backend: str
    dest_port: int
    announce: str = 'with-gateway'  # 'always' or 'with-gateway'


@dataclasses.dataclass(frozen=True)
class Foreign:
    """An object of the operator that no agent may touch."""

    node: str  # name of the node, 'central' for NB
    # 'route', 'static', 'prefix-list', 'nft', 'rule', 'flow', 'nb-route' or
    # 'address'
    kind: str
    look: tuple  # argv that prints it, run on the node
    text: str  # what has to be found in the output of ``look``
    device: str = ''  # the device whose end takes the object along, or ''
    # The program whose end takes the object along (a flow ends with
    # 'vswitchd', unsaved lines with 'frr'), or ''
    service: str = ''


@dataclasses.dataclass(frozen=True)
class Target:
    """Something that is probed all the time, the whole run long."""

    # Unique name, as 'in 198.51.100.12', 'out vm1', 'vip 198.18.0.10'
    subject: str
    node: str  # name of the node that sends: 'client', or of a machine
    kind: str  # 'icmp', 'udp' or 'tcp'
    address: str
    port: int = 0
    router: str = ''  # name of the router that the probes pass, '' for a VIP


@dataclasses.dataclass(frozen=True)
class State:
    """How everything is meant to be now; what NB and SB do not tell."""

    gateways: dict  # dict of node name to :class:`Gateway`
    # Dict of name to (UUID in Neutron, name of the Logical_Router_Port of the
    # gateway)
    routers: dict
    fips: dict  # dict of address to :class:`Fip`
    foreign: tuple  # tuple of :class:`Foreign` that have to be there now


@dataclasses.dataclass(frozen=True)
class Excuse:
    """Lost probes of which no agent could have prevented the loss."""

    subject: str  # of a :class:`Target`, or :data:`ALL`
    since: float  # of the sending of the first such probe
    until: float  # of the sending of the last such probe
    why: str


@dataclasses.dataclass(frozen=True)
class Move:
    """A gateway port has another owner in SB."""

    at: float
    router: str
    owner: str  # name of the node, '' for none


@dataclasses.dataclass(frozen=True)
class Episode:
    """One action of the run, and what came of it."""

    number: int  # from 1
    action: str
    target: str  # name of the node, router or address that suffers
    parameters: dict  # dict of what else was chosen, JSON
    began: float  # of the first step of the action
    ended: float  # when the action was over
    settled: float  # when everything was as it has to be, or the deadline
    excuses: tuple = ()  # tuple of :class:`Excuse`
    moves: tuple = ()  # tuple of :class:`Move` from began to settled
    violations: tuple = ()  # tuple of :class:`Violation`


@dataclasses.dataclass(frozen=True)
class Violation:
    """Something that may never be."""

    kind: str  # one of :data:`KINDS`
    subject: str
    detail: str
    at: float
