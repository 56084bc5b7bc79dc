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
    """The kind of cloud of a run.

    :ivar name: of --profile
    :ivar what: one sentence for --list
    :ivar gateways: number of gateway nodes
    :ivar methods: announce method of each gateway ('static', 'kernel'), one
        for each node: gw1, gw2, ...
    :ivar scheduler: neutron.GATEWAY_CHASSIS or neutron.HA_CHASSIS_GROUP
    :ivar vrf: name of the VRF of the fabric, '' for the default VRF
    :ivar routers: number of routers
    :ivar forwards: whether there are VIPs
    :ivar announce: when gateways announce VIPs: 'always' or 'with-gateway'
    :ivar ovn: whether agents have OVN, routers and floating IPs
    :ivar bfd: whether spine and gateways run BFD
    :ivar probe_interval: seconds between two probes of one target
    :ivar loss_limit: share of the probes that may be lost without excuse
    :ivar without: names of actions that make no sense in this cloud
    """

    name: str
    what: str
    gateways: int = 2
    methods: tuple = ('static', 'static')
    scheduler: str = 'gateway_chassis'
    vrf: str = 'vrf-provider'
    routers: int = 2
    forwards: bool = True
    announce: str = 'always'
    ovn: bool = True
    bfd: bool = True
    probe_interval: float = 0.02
    loss_limit: float = 0.003
    without: tuple = ()


@dataclasses.dataclass(frozen=True)
class Gateway:
    """How a gateway node is meant to be now.

    :ivar name: of the node
    :ivar powered: whether the node is on
    :ivar agent: 'running', 'stopped' (an orderly stop, nothing may be left),
        'killed' (objects stay) or 'paused' (objects stay)
    :ivar method: announce method of the agent, as configured now
    :ivar drained: whether the operator wants all routers to leave
    :ivar vips: tuple of :class:`Vip` that its rules file has now
    """

    name: str
    powered: bool = True
    agent: str = 'running'
    method: str = 'static'
    drained: bool = False
    vips: tuple = ()


@dataclasses.dataclass(frozen=True)
class Fip:
    """A floating IP.

    :ivar address: text
    :ivar router: name of the router
    :ivar inside: fixed address, text
    :ivar machine: name of the node of the machine, '' for a fixed address
        without a machine
    """

    address: str
    router: str
    inside: str
    machine: str = ''


@dataclasses.dataclass(frozen=True)
class Vip:
    """An anycast address with one rule of port forwarding.

    :ivar address: text
    :ivar port: number that clients ask
    :ivar backend: address, text
    :ivar dest_port: number of the backend
    :ivar announce: 'always' or 'with-gateway'
    """

    address: str
    port: int
    backend: str
    dest_port: int
    announce: str = 'with-gateway'


@dataclasses.dataclass(frozen=True)
class Foreign:
    """An object of the operator that no agent may touch.

    :ivar node: name of the node, 'central' for NB
    :ivar kind: 'route', 'static', 'prefix-list', 'nft', 'rule', 'flow',
        'nb-route' or 'address'
    :ivar look: argv that prints it, run on the node
    :ivar text: what has to be found in the output of ``look``
    :ivar device: the device whose end takes the object along, or ''
    :ivar service: the program whose end takes the object along (a flow ends
        with 'vswitchd', unsaved lines with 'frr'), or ''
    """

    node: str
    kind: str
    look: tuple
    text: str
    device: str = ''
    service: str = ''


@dataclasses.dataclass(frozen=True)
class Target:
    """Something that is probed all the time, the whole run long.

    :ivar subject: unique name, as 'in 198.51.100.12', 'out vm1', 'vip
        198.18.0.10'
    :ivar node: name of the node that sends: 'client', or of a machine
    :ivar kind: 'icmp', 'udp' or 'tcp'
    :ivar address: text
    :ivar port: for udp and tcp
    :ivar router: name of the router that the probes pass, '' for a VIP
    """

    subject: str
    node: str
    kind: str
    address: str
    port: int = 0
    router: str = ''


@dataclasses.dataclass(frozen=True)
class State:
    """How everything is meant to be now; what NB and SB do not tell.

    :ivar gateways: dict of node name to :class:`Gateway`
    :ivar routers: dict of name to (UUID in Neutron, name of the
        Logical_Router_Port of the gateway)
    :ivar fips: dict of address to :class:`Fip`
    :ivar foreign: tuple of :class:`Foreign` that have to be there now
    """

    gateways: dict
    routers: dict
    fips: dict
    foreign: tuple


@dataclasses.dataclass(frozen=True)
class Excuse:
    """Lost probes of which no agent could have prevented the loss.

    :ivar subject: of a :class:`Target`, or :data:`ALL`
    :ivar since: of the sending of the first such probe
    :ivar until: of the sending of the last such probe
    :ivar why: one sentence
    """

    subject: str
    since: float
    until: float
    why: str


@dataclasses.dataclass(frozen=True)
class Move:
    """A gateway port has another owner in SB.

    :ivar at: when
    :ivar router: name of the router
    :ivar owner: name of the node, '' for none
    """

    at: float
    router: str
    owner: str


@dataclasses.dataclass(frozen=True)
class Episode:
    """One action of the run, and what came of it.

    :ivar number: from 1
    :ivar action: name of the action
    :ivar target: name of the node, router or address that suffers
    :ivar parameters: dict of what else was chosen, JSON
    :ivar began: of the first step of the action
    :ivar ended: when the action was over
    :ivar settled: when everything was as it has to be, or the deadline
    :ivar excuses: tuple of :class:`Excuse`
    :ivar moves: tuple of :class:`Move` from began to settled
    :ivar violations: tuple of :class:`Violation`
    """

    number: int
    action: str
    target: str
    parameters: dict
    began: float
    ended: float
    settled: float
    excuses: tuple = ()
    moves: tuple = ()
    violations: tuple = ()


@dataclasses.dataclass(frozen=True)
class Violation:
    """Something that may never be.

    :ivar kind: one of :data:`KINDS`
    :ivar subject: node, router or address
    :ivar detail: text
    :ivar at: when it was seen
    """

    kind: str
    subject: str
    detail: str
    at: float
