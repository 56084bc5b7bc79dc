# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rules in force, with the state of their destinations, for each pass."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Set
import dataclasses
import time
import typing
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.common import wording
from ovn_network_agent.files import watched
from ovn_network_agent.forward import health_checks as healths
from ovn_network_agent.forward import node_addresses
from ovn_network_agent.forward import rules
from ovn_network_agent.forward import vip_state
from ovn_network_agent.model import port_forwards

if typing.TYPE_CHECKING:
    from ovn_network_agent.engine import outcome as outcomes
    from ovn_network_agent.engine import tracking

LOG = logging.getLogger(__name__)

# Seconds after which the devices of destinations are looked up again.
_LINKS_INTERVAL = 60


class Source:
    """Keeps the rules up to date.

    :raises file_problems.BadFile: when the rules cannot be used at the start
    """

    def __init__(self, conf: cfg.ConfigOpts,
                 health: healths.Checks | None = None,
                 read_addresses: Callable[
                     [str], frozenset[str]] = node_addresses.read,
                 read_links: Callable[[Iterable[str]], tuple[str, ...]] = (
                     node_addresses.read_shared_links),
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._conf = conf
        self._health = health or healths.Checks()
        self._read_addresses = read_addresses
        self._read_links = read_links
        self._clock = clock
        self._addresses: frozenset[str] = frozenset()
        self._links: tuple[str, ...] = ()
        self._links_of: tuple[port_forwards.Vip, ...] | None = None
        self._links_due = 0.0
        self._blind = ''
        self._key: object = None
        self._made: port_forwards.Forwards | None = None
        self._vip_statuses = vip_state.VipStatuses(conf)
        self._vips: tuple[port_forwards.Vip, ...] = ()
        # Without a rules file, there is nothing to add to a snapshot.
        self.active = bool(conf.port_forward.rules_file)
        self.file = watched.Watched(
            lambda: conf.port_forward.rules_file, lambda: rules.load(conf),
            self._put_in_force, 'port forwards') if self.active else None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why newer rules are not in force."""
        return self.file.reasons if self.file else ()

    @property
    def vip_statuses(self) -> tuple[vip_state.VipStatus, ...]:
        """The status of each VIP; on any thread."""
        return self._vip_statuses.now

    def start(self, trigger: triggers.Trigger) -> None:
        """Begin to follow the file."""
        if self.file:
            self._health.start(trigger)
            self.file.start(trigger)

    def stop(self) -> None:
        """End this; may be called twice."""
        if self.file:
            self.file.stop()
            self._health.stop()

    def reread(self) -> None:
        """Read the file again, on the watcher's thread."""
        if self.file:
            self.file.reread()

    # -- the file (on the watcher's thread) -------------------------------

    def _put_in_force(self, vips: tuple[port_forwards.Vip, ...]) -> None:
        before = {vip.address: vip for vip in self._vips}
        after = {vip.address: vip for vip in vips}
        self._vips = vips
        self._health.want(frozenset(
            target for vip in vips for rule in vip.rules
            for target, _each in _targets(rule)))
        LOG.info('Port forwards of %s: %s, %s; %s new, %d changed, '
                 '%d gone',
                 self._conf.port_forward.rules_file,
                 wording.count(len(vips), 'VIP'),
                 wording.count(sum(len(vip.rules) for vip in vips), 'rule'),
                 wording.count(len(after.keys() - before.keys()), 'VIP is',
                               'VIPs are'),
                 sum(before.get(address, vip) != vip
                     for address, vip in after.items()),
                 len(before.keys() - after.keys()))
        if not vips:
            LOG.warning('%s has no rules; nothing is forwarded',
                        self._conf.port_forward.rules_file)

    # -- the passes (on the loop's thread) --------------------------------

    def with_rules(self, snapshot: model.Snapshot) -> model.Snapshot:
        """A snapshot with the present rules added."""
        return dataclasses.replace(snapshot, forwards=self.current(snapshot))

    def current(self,
                snapshot: model.Snapshot) -> port_forwards.Forwards | None:
        """The rules with the present state of their destinations.

        :returns: the same object as long as nothing has changed; None without
            a rules file
        """
        if not self.active:
            return None
        vips = self._vips
        dead = {
            target: self._health.why(target)
            for vip in vips for rule in vip.rules
            for target, _each in _targets(rule)
            if not self._health.alive(target)}
        gateway = (any(router.served_ports for router in snapshot.routers)
                   if snapshot.node.chassis else None)
        key = (vips, self._present(vips), dead,
               port_forwards.taken(vips, snapshot), gateway,
               self._shared_links(vips))
        if key != self._key:
            self._key = key
            self._made = port_forwards.Forwards(
                tuple(_known(vip, *key[1:4]) for vip in vips), *key[4:])
        return self._made

    def after_pass(self, outcome: 'outcomes.Outcome',
                   tracker: 'tracking.Tracker') -> None:
        """Note the result of a pass with :meth:`current`."""
        self._vip_statuses.after_pass(self._made, outcome, tracker)

    def _present(self, vips: tuple[port_forwards.Vip, ...]) -> frozenset[str]:
        """The VIPs that the node has without the agent."""
        others = {vip.address for vip in vips if not vip.managed}
        if not others:
            return frozenset()
        self._addresses = self._seen(
            self._addresses, self._read_addresses, self._conf.frr.vrf_name)
        return self._addresses & others

    def _shared_links(self, vips: tuple[port_forwards.Vip, ...]
                      ) -> tuple[str, ...]:
        now = self._clock()
        if vips is not self._links_of or now >= self._links_due:
            self._links_of, self._links_due = vips, now + _LINKS_INTERVAL
            wanted = {destination.address for vip in vips
                      if vip.version == 4 for rule in vip.rules
                      for destination in rule.destinations}
            self._links = self._seen(
                self._links, self._read_links, wanted) if wanted else ()
        return self._links

    def _seen(self, previous: Any, read: Callable[..., Any],
              *args: object) -> Any:
        """What read(*args) returns, or in doubt the former result."""
        try:
            found = read(*args)
        except OSError as error:
            if str(error) != self._blind:
                LOG.warning('The addresses of this node cannot be read: %s',
                            error)
            self._blind = str(error)
            return previous
        self._blind = ''
        return found


def _targets(rule: port_forwards.Rule) -> Iterator[
        tuple[healths.Target, port_forwards.Destination]]:
    if rule.check:
        for destination in rule.destinations:
            yield healths.Target(
                destination.address, rule.check.port or rule.dest_port,
                rule.check), destination


def _known(vip: port_forwards.Vip, present: Set[str],
           dead: Mapping[healths.Target, str],
           taken: Iterable[tuple[str, str]]) -> port_forwards.Vip:
    if vip.address in present:
        vip = vip._replace(present=True)
    for address, owner in taken:
        if vip.address == address:
            vip = vip._replace(taken=owner)
    if not dead:
        return vip
    return vip._replace(rules=tuple(
        dataclasses.replace(rule, destinations=tuple(_judged(rule, dead)))
        if rule.check else rule for rule in vip.rules))


def _judged(rule: port_forwards.Rule, dead: Mapping[healths.Target, str]
            ) -> Iterator[port_forwards.Destination]:
    for target, destination in _targets(rule):
        yield dataclasses.replace(destination, alive=target not in dead,
                                  why=dead.get(target, ''))
