# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Answers that the readers share: each system is asked only once.

Nothing changes: the privileged daemons refuse changes, as in a dry run.
"""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
import contextlib
import functools
import json
import os
import socket
import threading
import typing

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent.backends import base as backends
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import validate
from ovn_network_agent.control.socket import client
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import replicas
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.frr import setup
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.ovsdb import streams
from ovn_network_agent.privileged.daemon import start
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.privileged.routing import vtysh
from ovn_network_agent.privileged.switch import ovsdb
from ovn_network_agent.runtime import loader
from ovn_network_agent.runtime import reloads
from ovn_network_agent.runtime.process import mode as modes
from ovn_network_agent.runtime.process import single_instance
from ovn_network_agent.watches.frr import frr_fitness

_Arguments = typing.ParamSpec('_Arguments')
_Answer = typing.TypeVar('_Answer')
# In the class, these names are those of methods.
_Link: typing.TypeAlias = links.Link
_Lists: typing.TypeAlias = frr.Lists
# Seconds for an answer of the running agent.
_ANSWER = 5.0
_FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
# Seconds for a process of vtysh.
_TIMEOUT = 5


def shared(
        function: 'Callable[typing.Concatenate[Sources, _Arguments], _Answer]'
        ) -> 'Callable[typing.Concatenate[Sources, _Arguments], _Answer]':
    """Decorator: a reading, or its failure, is made once for its arguments."""
    @functools.wraps(function)
    def wrapper(self: 'Sources', /, *arguments: _Arguments.args,
                **options: _Arguments.kwargs) -> _Answer:
        question = function.__name__, arguments, tuple(options.items())
        with self._guard:
            lock = self._locks.setdefault(question, threading.Lock())
        with lock:
            if question not in self._made:
                try:
                    made = function(self, *arguments, **options)
                    self._made[question] = made, None
                except Exception as error:
                    self._made[question] = None, error
        value, failure = self._made[question]
        if failure is not None:
            raise failure
        answer: _Answer = value
        return answer
    return wrapper


class Sources:
    """The systems of this node, read on demand and from any thread.

    :param conf: not yet read
    :param argv: options that name configuration files
    :param socket: '' for the configured control socket
    :ivar unloaded: why the plugins cannot be loaded, or ''
    """

    def __init__(self, conf: cfg.ConfigOpts, argv: list[str],
                 socket: str = '') -> None:
        self._argv = argv
        self._socket = socket
        self._guard = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._made: dict[Hashable,
                         tuple[typing.Any, Exception | None]] = {}
        self._replicas: dict[str, replicas.Replica] = {}
        self._refused = ''
        self.conf = conf
        self.drivers: tuple[drivers.Driver, ...] = ()
        self.backends: tuple[backends.Backend, ...] = ()
        self.unloaded = ''

    def start(self) -> None:
        """Read the configuration, and start the privileged daemons.

        This comes before the first thread, because the daemons are forked.

        :raises conf.validate.ConfigError: when the files cannot be read
        """
        reloads.read(self.conf, self._argv)
        self._load_plugins()
        self._limit_waits()
        if os.geteuid():
            self._refused = ('this needs root; run the command as root')
            return
        try:
            # The capabilities stay: files and sockets belong to others.
            start.start(self.conf, modes.contexts(self.conf), dry_run=True,
                        drop=False)
        except Exception as error:
            # Only the checks that need a daemon are lost.
            self._refused = wording.error(error)
        # The check of the files of TLS says what is wrong with them.
        with contextlib.suppress(validate.ConfigError, cfg.Error, ValueError):
            streams.configure(self.conf)

    def _load_plugins(self) -> None:
        """Load the plugins, which register options, before any thread."""
        try:
            self.drivers = tuple(loader.load_drivers(self.conf))
            self.backends = self.fresh_backends()
        except Exception as error:
            self.unloaded = wording.error(error)

    def fresh_backends(self) -> tuple[backends.Backend, ...]:
        """Backends without a memory; LoadError for one that cannot be used."""
        return tuple(loader.load_backends(self.conf))

    def _limit_waits(self) -> None:
        """An operator waits for the answer, and a daemon may hang."""
        with contextlib.suppress(cfg.Error, ValueError):
            self.conf.set_override('vtysh_timeout', min(
                _TIMEOUT, self.conf.frr.vtysh_timeout), 'frr')

    def close(self) -> None:
        """Close the connections to the databases."""
        for replica in self._replicas.values():
            replica.close()

    # -- the agent --------------------------------------------------------

    @property
    def refused(self) -> str:
        """Why there are no privileged daemons, '' when there are."""
        return self._refused

    def privileged(self) -> None:
        """Raise check.NotChecked without privileged daemons."""
        if self._refused:
            raise check.NotChecked(self._refused)

    @property
    def with_ovn(self) -> bool:
        """Whether the agent of this configuration works with OVN."""
        return not mode.forwards_only(self.conf)

    def ovn(self) -> None:
        """Raise check.NotChecked without OVN."""
        if not self.with_ovn:
            raise check.NotChecked('without [ovn] ovn_nb_remote and '
                                   'ovn_sb_remote the agent leaves this '
                                   'alone')

    def ovn_and_daemons(self) -> None:
        """Raise check.NotChecked without OVN or privileged daemons."""
        self.ovn()
        self.privileged()

    @shared
    def agents(self) -> tuple[agent.Agent, ...]:
        """The agents of this network namespace."""
        return agent.agents()

    @shared
    def original(self) -> single_instance.Original:
        """The original program here."""
        return single_instance.find_original()

    @shared
    def holder(self) -> str:
        """See :func:`single_instance.holder`."""
        return single_instance.holder()

    @shared
    def report(self) -> agent.Answer:
        """The status of the running agent; NoAgent when none answers."""
        return self.ask('status')

    def ask(self, command: str) -> agent.Answer:
        """The running agent's answer to a command; see :meth:`report`."""
        path = self._socket or self.conf.control_socket
        if not path:
            raise check.NotChecked('[DEFAULT] control_socket is empty')
        answer: agent.Answer = json.loads(client.call(
            path, command, ['--json'], _ANSWER))
        return answer

    # -- the kernel -------------------------------------------------------

    @shared
    def links(self) -> dict[str, links.Link]:
        """The devices by name."""
        return links.read_all()

    @shared
    def addresses(self) -> list[addresses.Address]:
        """The addresses of all devices."""
        return addresses.read_all()

    @shared
    def rules(self) -> list[tuple[rules.Rule, bool]]:
        """Each rule, and whether the answer has all of it."""
        with connection.Connection() as kernel:
            return rules.listed(kernel)

    def routes(self, table: int) -> list[route_codec.Route]:
        """The IPv4 and IPv6 routes of a table."""
        with connection.Connection() as kernel:
            return routes.read(kernel, table=table)

    def has_default(self, vrf: _Link, version: int = 4) -> bool:
        """Whether a VRF has a way out."""
        with connection.Connection() as kernel:
            return routes.has_default(kernel, vrf.index, vrf.vrf_table,
                                      _FAMILIES[version])

    # -- FRR --------------------------------------------------------------

    @property
    def vrf(self) -> str:
        """Name of FRR's VRF, '' for the default VRF."""
        name: str = self.conf.frr.vrf_name
        return name

    @shared
    def frr(self, version: int) -> setup.Setup:
        """The running configuration of FRR for a family."""
        self.ovn_and_daemons()
        return setup.Setup(*bgp.read_setup(
            self.vrf, self.conf.frr.frr_prefix_list, version))

    @shared
    def daemons(self) -> frozenset[str]:
        """Names of FRR's daemons that run and answer."""
        self.ovn_and_daemons()
        try:
            return frozenset(vtysh.read_daemons(True))
        except ConnectionRefusedError:
            return frozenset()

    def sessions(self, version: int = 4) -> tuple[dict[str, str], list[str]]:
        """The states by neighbour, and the neighbours that have sent."""
        self.ovn_and_daemons()
        _missing, neighbours, senders = bgp.read_sessions(
            self.vrf, frr_fitness.daemons(self.conf), version)
        return neighbours, senders

    def prefix_lists(self, version: int = 4) -> _Lists:
        """The agent's prefix list of a family in both daemons."""
        self.ovn_and_daemons()
        return frr.read_lists(self.conf.frr.frr_prefix_list, version)

    # -- OVN and Open vSwitch ---------------------------------------------

    @shared
    def controller(self) -> list[str]:
        """The answer of :func:`privileged.switch.ovsdb.read_state`."""
        self.ovn_and_daemons()
        return ovsdb.read_state()

    @shared
    def database(self, name: str) -> replicas.Replica:
        """The replica of 'nb', 'sb' or 'ovs'; Unavailable if not loaded."""
        if name == 'ovs':
            self.privileged()
        self.ovn()
        made = replicas.Replica(self.conf, name, self.drivers)
        self._replicas[name] = made
        return made.load()

    @shared
    def announceable(self, version: int) -> tuple[ip_text.Address, ...]:
        """The addresses that other programs must not keep back."""
        with self.database('nb').rows() as nb:
            external = [row.external_ip for row in nb['NAT'].values()]
        snapshot = self.snapshot()
        return announceable(snapshot, external, [
            each.address for each in announcing.of_machines(
                self.conf, snapshot) if not each.network.vni], version)

    def segments(self) -> list[model.Segment]:
        """The provider segments of gateway ports and machines."""
        snapshot = self.snapshot()
        places: list[announcing.Place] = [
            *(port for group in snapshot.groups for port in group.ports),
            *snapshot.networks.values()]
        return [place.segment for place in places if place.segment]

    @shared
    def snapshot(self) -> model.Snapshot:
        """The first view of the agent."""
        return self.view()

    def view(self) -> model.Snapshot:
        """The present view of the agent."""
        return replicas.view(self.conf, {
            name: self.database(name) for name in ('nb', 'sb', 'ovs')})


def announceable(snapshot: model.Snapshot, external: Iterable[str],
                 machines: Iterable[str] = (), version: int = 4
                 ) -> tuple[ip_text.Address, ...]:
    """The addresses of the underlay that other programs must not keep back.

    A gateway group need not have its port here: a standby must be able to take
    over.  ``external`` has those of all NAT rows.  Pure.
    """
    ports = [port for group in snapshot.groups for each in group.ports
             if not each.vni
             for port in map(networks.parse_interface, each.networks)
             if port and port.version == version]
    floating = [each.address for known in snapshot.addresses.values()
                for each in known.values()
                if 'fip' in each.kinds and not each.port.vni]
    known = {port.network for port in ports}
    here = {each for each in map(_address, machines)
            if each and each.version == version}
    found: set[ip_text.Address] = {port.ip for port in ports}
    return tuple(sorted(found | here | {
        address for address in map(_address, (*external, *floating))
        if address and any(address in network for network in known)}))


def _address(text: str) -> ip_text.Address | None:
    try:
        return ip_text.address(text)
    except ValueError:
        # Another check names such a row.
        return None
