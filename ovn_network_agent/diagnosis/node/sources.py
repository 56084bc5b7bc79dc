# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Answers that the readers share: each system is asked only once.

Nothing here changes anything: the privileged daemons refuse changes, as in a
dry run.
"""

import contextlib
import functools
import json
import os
import socket
import threading

from oslo_config import cfg

from ovn_network_agent import iptext
from ovn_network_agent import networks
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import validate
from ovn_network_agent.control import client
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import replicas
from ovn_network_agent.diagnosis.node import running
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.drivers import announcing
from ovn_network_agent.frr import setup
from ovn_network_agent.netlink import addresses
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import links
from ovn_network_agent.netlink import routes
from ovn_network_agent.netlink import rules
from ovn_network_agent.ovsdb import streams
from ovn_network_agent.privileged import bgp
from ovn_network_agent.privileged import controller
from ovn_network_agent.privileged import frr_setup
from ovn_network_agent.privileged import start
from ovn_network_agent.privileged import vtysh
from ovn_network_agent.runtime import configuration
from ovn_network_agent.runtime import former
from ovn_network_agent.runtime import loader
from ovn_network_agent.runtime import mode as modes
from ovn_network_agent.runtime import sole
from ovn_network_agent.watches import frr_fitness

# Seconds for an answer of the running agent.
_ANSWER = 5.0
_FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
# Seconds for a process of vtysh.
_PATIENCE = 5


def shared(function):
    """Decorator for a reading that is made once; so is its failure."""
    name = function.__name__

    @functools.wraps(function)
    def once(self):
        with self._guard:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            if name not in self._made:
                try:
                    self._made[name] = function(self), None
                except Exception as error:
                    self._made[name] = None, error
        value, error = self._made[name]
        if error is not None:
            raise error
        return value
    return once


class Sources:
    """The systems of this node, read on demand and from any thread.

    :param conf: the global oslo.config ConfigOpts, not yet read
    :param argv: list of str, options that name configuration files
    :param socket: path of the control socket, '' for the configured one
    :ivar drivers: tuple of :class:`drivers.base.Driver`
    :ivar backends: tuple of :class:`backends.base.Backend`
    :ivar unloaded: why the plugins cannot be loaded, or ''
    """

    def __init__(self, conf, argv, socket=''):
        self._argv = argv
        self._socket = socket
        self._guard = threading.Lock()
        self._locks = {}
        self._made = {}
        self._replicas = {}
        self._refused = ''
        self.conf = conf
        self.drivers = ()
        self.backends = ()
        self.unloaded = ''

    def start(self):
        """Read the configuration, and start the privileged daemons.

        This comes before the first thread, because the daemons are forked.

        :raises conf.validate.ConfigError: when the configuration cannot be
            read at all
        """
        configuration.read(self.conf, self._argv)
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
            self._refused = f'{error}'
        # The check of the files of TLS says what is wrong with them.
        with contextlib.suppress(validate.ConfigError, cfg.Error, ValueError):
            streams.configure(self.conf)

    def _load_plugins(self):
        """Load the plugins, which register options, before any thread."""
        try:
            self.drivers = tuple(loader.load_drivers(self.conf))
            self.backends = self.fresh_backends()
        except Exception as error:
            self.unloaded = f'{error}'

    def fresh_backends(self):
        """Backends without a memory, a tuple.

        :raises runtime.loader.LoadError: when one cannot be used
        """
        return tuple(loader.load_backends(self.conf))

    def _limit_waits(self):
        """An operator waits for the answer, and a daemon may hang."""
        with contextlib.suppress(cfg.Error, ValueError):
            self.conf.set_override('vtysh_timeout', min(
                _PATIENCE, self.conf.frr.vtysh_timeout), 'frr')

    def close(self):
        """Close the connections to the databases."""
        for replica in self._replicas.values():
            replica.close()

    # -- the agent --------------------------------------------------------

    @property
    def refused(self):
        """Why there are no privileged daemons, '' when there are."""
        return self._refused

    def privileged(self):
        """Check that there are privileged daemons.

        :raises check.NotChecked: when there are none
        """
        if self._refused:
            raise check.NotChecked(self._refused)

    @property
    def with_ovn(self):
        """Whether the agent of this configuration works with OVN."""
        return not mode.forwards_only(self.conf)

    def ovn(self):
        """Check that the configuration has OVN.

        :raises check.NotChecked: without OVN
        """
        if not self.with_ovn:
            raise check.NotChecked('without [ovn] ovn_nb_remote and '
                                   'ovn_sb_remote the agent leaves this '
                                   'alone')

    @shared
    def agents(self):
        """The agents of this network namespace, tuple of running.Agent."""
        return running.agents()

    @shared
    def former(self):
        """The original program here, :class:`former.Former`."""
        return former.look()

    @shared
    def holder(self):
        """The holder of the only agent's lock, see :func:`sole.holder`."""
        return sole.holder()

    @shared
    def report(self):
        """The status of the running agent, a dict.

        :raises control.client.NoAgent: when no agent answers
        """
        return self.ask('status')

    def ask(self, command):
        """The answer of the running agent to a command; see :meth:`report`.
        """
        path = self._socket or self.conf.control_socket
        if not path:
            raise check.NotChecked('[DEFAULT] control_socket is empty')
        return json.loads(client.call(path, command, ['--json'], _ANSWER))

    # -- the kernel -------------------------------------------------------

    @shared
    def links(self):
        """dict of name to :class:`netlink.links.Link`."""
        return links.read_all()

    @shared
    def addresses(self):
        """list of :class:`netlink.addresses.Address`."""
        return addresses.read_all()

    @shared
    def rules(self):
        """list of (:class:`netlink.rules.Rule`, whether it is all of it)."""
        with connection.Connection() as kernel:
            return rules.listed(kernel)

    def routes(self, table):
        """The IPv4 and IPv6 routes of a table, a list of Route."""
        with connection.Connection() as kernel:
            return routes.read(kernel, table=table)

    def has_default(self, vrf, version=4):
        """Whether a VRF, a :class:`netlink.links.Link`, has a way out."""
        with connection.Connection() as kernel:
            return routes.has_default(kernel, vrf.index, vrf.vrf_table,
                                      _FAMILIES[version])

    # -- FRR --------------------------------------------------------------

    @property
    def vrf(self):
        """Name of FRR's VRF, '' for the default VRF."""
        return self.conf.frr.vrf_name

    def _with_frr(self):
        self.ovn()
        self.privileged()

    def frr(self, version=4):
        """:class:`frr.setup.Setup`, the running configuration of a family."""
        return {4: self._frr4, 6: self._frr6}[version]()

    @shared
    def _frr4(self):
        return self._setup(4)

    @shared
    def _frr6(self):
        return self._setup(6)

    def _setup(self, version):
        self._with_frr()
        return setup.Setup(*frr_setup.read_setup(
            self.vrf, self.conf.frr.frr_prefix_list, version))

    @shared
    def daemons(self):
        """Names of FRR's daemons that run and answer, a frozenset."""
        self._with_frr()
        try:
            return frozenset(vtysh.read_daemons(True))
        except ConnectionRefusedError:
            return frozenset()

    def sessions(self, version=4):
        """(dict of neighbour to state, list of those that have sent)."""
        self._with_frr()
        _missing, neighbours, heard = bgp.read_sessions(
            self.vrf, frr_fitness.daemons(self.conf), version)
        return neighbours, heard

    def prefix_lists(self, version=4):
        """dict of daemon ('bgpd', 'zebra') to its entries, or None."""
        self._with_frr()
        return frr.read_lists(self.conf.frr.frr_prefix_list, version)

    # -- OVN and Open vSwitch ---------------------------------------------

    @shared
    def controller(self):
        """The answer of :func:`privileged.controller.read_state`."""
        self.ovn()
        self.privileged()
        return controller.read_state()

    def database(self, name):
        """:class:`replicas.Replica` of 'nb', 'sb' or 'ovs', loaded.

        :raises ovsdb.connection.Unavailable: when it cannot be loaded
        """
        return {'nb': self._nb, 'sb': self._sb, 'ovs': self._ovs}[name]()

    @shared
    def _nb(self):
        return self._load('nb')

    @shared
    def _sb(self):
        return self._load('sb')

    @shared
    def _ovs(self):
        self.privileged()
        return self._load('ovs')

    def _load(self, name):
        self.ovn()
        made = replicas.Replica(self.conf, name, self.drivers)
        self._replicas[name] = made
        return made.load()

    @shared
    def announceable(self):
        """IPv4 addresses that other programs must not keep back, a tuple."""
        return self._announceable(4)

    @shared
    def announceable6(self):
        """IPv6 addresses that other programs must not keep back, a tuple."""
        return self._announceable(6)

    def _announceable(self, version):
        with self.database('nb').rows() as nb:
            external = [row.external_ip for row in nb['NAT'].values()]
        snapshot = self.snapshot()
        return announceable(snapshot, external, [
            each.address for each in announcing.of_machines(
                self.conf, snapshot) if not each.network.vni], version)

    def segments(self):
        """The provider segments of gateway ports and machines, a list."""
        snapshot = self.snapshot()
        return [place.segment for place in (
            *(port for group in snapshot.groups for port in group.ports),
            *snapshot.networks.values()) if place.segment]

    @shared
    def snapshot(self):
        """The first view of the agent, :class:`model.Snapshot`."""
        return self.view()

    def view(self):
        """The present view of the agent, :class:`model.Snapshot`."""
        return replicas.view(self.conf, {
            name: self.database(name) for name in ('nb', 'sb', 'ovs')})


def announceable(snapshot, external, machines=(), version=4):
    """The addresses of the underlay that other programs must not keep back.

    Pure.

    The gateway group of a router need not have its port here: a standby must
    be able to take over.

    :param snapshot: :class:`model.Snapshot`
    :param external: iterable of text: the external addresses of all NAT rows
    :param machines: iterable of text: the announced addresses of machines
    :param version: 4 or 6
    :returns: tuple of IP addresses, sorted
    """
    ports = [networks.parse_interface(text) for group in snapshot.groups
             for port in group.ports if not port.vni
             for text in port.networks]
    ports = [port for port in ports if port and port.version == version]
    floating = [each.address for known in snapshot.addresses.values()
                for each in known.values()
                if 'fip' in each.kinds and not each.port.vni]
    known = {port.network for port in ports}
    here = {each for each in map(_address, machines)
            if each.version == version}
    return tuple(sorted({port.ip for port in ports} | here | {
        address for address in map(_address, (*external, *floating))
        if address and any(address in network for network in known)}))


def _address(text):
    """An address, or None for a text of OVN that is none."""
    try:
        return iptext.address(text)
    except ValueError:
        # Another check names such a row.
        return None
