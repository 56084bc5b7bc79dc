# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend frr_static: the static routes that FRR redistributes into BGP.

The agent's routes are the host routes of the VRF with the next hop
``veth_nexthop`` (in default VRF mode, through the device of a provider
network), without other properties or with a tag of :data:`ownership.TAGS`.
Operators have such routes for networks, or to a gateway port ("onlink"), so
these are the agent's only with a tag, perhaps :data:`ownership.NETWORK_TAG`.

FRR has one route for a prefix and next hop, with any distance or tag, and
accepts none beside a blackhole. So a route of the agent that would replace the
operator's is reported and not added.

The backend also reads routes that zebra has not installed, because they have
to be withdrawn. :mod:`watches.frr.frr_verification` checks the effect of the
routes, and :mod:`frr_refresh` makes the soft refreshes.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import itertools
import shutil
from typing import Any
from typing import TypeAlias

from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.backends.frr import frr_refresh
from ovn_network_agent.common import bridges
from ovn_network_agent.common import notices
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.routing import vtysh

LOG = logging.getLogger(__name__)

#: Static routes beyond which ``kernel`` is the better method. One more takes
#: 28 against 22 ms beside 100, 62 against 31 beside 1,000, and 614 against 121
#: beside 10,000 (speed.rst).
MANY = 300
# FRR needs nearly a second for these. Meanwhile a takeover of fewer routes
# leaves the processor to FRR.
_AWAITED = 2500
# To single out bad routes: one of 5,000 takes 25.
_ATTEMPTS = 50
# Words for a blackhole, beside which FRR accepts no next hop.
_ONLINK = ' onlink'
_NO_WAY = ('blackhole', 'reject', 'Null0')


_WHAT = 'static routes of FRR'  # in errors
_Reading: TypeAlias = tuple[
    Sequence[resources.Announcement] | None, str | None]


class StaticBackend(base.Backend):
    """Static host routes through the next hop of the agent."""

    name = 'frr_static'
    system = 'FRR'
    kinds = (resources.Announcement,)
    doubted_by = (notices.FRR_RESTARTED, notices.ZEBRA_STATIC)
    revived_by = (notices.FRR_RESTARTED,)
    uses_known = False
    awaited_at_most = _AWAITED

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        # By key: the operator's routes in the way of any of the agent's, and
        # of those to a gateway port.
        self._foreign: dict[object, str] = {}
        self._gateways: dict[object, str] = {}
        self._advised = False
        self.refreshes = frr_refresh.Refresher(conf)

    def check(self) -> list[str]:
        """The program of ``[frr] vtysh_wrapper`` has to exist.

        The announce method ``kernel`` needs no program.
        """
        if self._kernel_announces or self._vtysh_found():
            return []
        return [f'{self._program} is not found: FRR is written to through '
                'vtysh; install FRR, set [frr] vtysh_wrapper to what reaches '
                'it in its container, or set [fip_route] announce_method to '
                'kernel']

    @property
    def _kernel_announces(self) -> bool:
        return bool(self.conf.fip_route.announce_method == 'kernel')

    @property
    def _program(self) -> str:
        return str((self.conf.frr.vtysh_wrapper.split() or ['vtysh'])[0])

    def _vtysh_found(self) -> bool:
        return shutil.which(self._program) is not None

    @property
    def _vrf(self) -> str:
        name: str = self.conf.frr.vrf_name
        return name

    def _is_nexthop(self, hop: str) -> bool:
        """Whether a route of the agent may have a next hop."""
        if self._vrf:
            return hop in (self.conf.veth_leak.veth_nexthop,
                           ownership.NEXT_HOP_6)
        return bridges.is_segment_device(_device(hop),
                                         bridges.served(self.conf))

    def read(self, known: base.Known) -> Sequence[resources.Announcement]:
        """Read the configured host routes through the next hop of the agent.

        :raises base.BackendError: when FRR does not answer
        """
        return self.reread(lambda: known, None)[0] or []

    def reread(self, known: Callable[[], base.Known], mark: str | None
               ) -> _Reading:
        """Likewise, unless the configuration is the same as at a reading.

        :param mark: digest of the configuration, None for a reading
        :raises base.BackendError: as :meth:`read`
        """
        if self._kernel_announces and not self._vtysh_found():
            # Without vtysh, FRR is not on this node.
            return [], None
        with calls.explained(_WHAT):
            configured, digest = vtysh.read_static_again(self._vrf, mark or '')
        return (None if configured is None else
                self._announcements(configured)), digest

    def _announcements(self, configured: Sequence[tuple[str, str]]
                       ) -> list[resources.Announcement]:
        """The agent's of the configured (prefix, rest of the line)."""
        # Thousands of routes have the same rest.
        tagged = {rest: _tagged(rest) for _prefix, rest in configured}
        known = {rest for rest, (hop, _tag) in tagged.items()
                 if self._is_nexthop(hop)}
        ours = {prefix: tagged[rest] for prefix, rest in configured
                if rest in known and _is_marked(prefix, *tagged[rest])}
        # In the way, as of the last reading.
        foreign = {(self._vrf, prefix): rest for prefix, rest in configured
                   if prefix not in ours}
        self._foreign = {key: rest for key, rest in foreign.items()
                         if self._excludes_ours(rest)}
        self._gateways = {key: rest for key, rest in foreign.items()
                          if self._is_nexthop(_gateway(rest))}
        self._advise(len(ours))
        return [resources.Announcement(
            self._vrf, prefix, hop,
            None if tag == ownership.NETWORK_TAG else tag)
            for prefix, (hop, tag) in sorted(ours.items())]

    def _advise(self, count: int) -> None:
        """Recommend the other method once, when FRR has many routes."""
        if (count > MANY and not self._advised and
                not self._kernel_announces):
            self._advised = True
            LOG.info('FRR has %d static routes of the agent, and its time '
                     'for each change grows with their number; [fip_route] '
                     'announce_method = kernel suits so many addresses: '
                     '"ovn-network-agent-ctl announce-method kernel" says '
                     'what FRR needs for the method, and changes it without '
                     'a loss', count)

    def _excludes_ours(self, rest: str) -> bool:
        first, _blank, more = rest.partition(' ')
        return first in _NO_WAY or any(map(
            self._is_nexthop, (first, f'{first} {more.split(" ")[0]}')))

    def apply(self, delta: base.Delta) -> base.Failures:
        """Add and remove static routes, and make the soft refresh.

        :returns: routes of another VRF or next hop, routes that the operator
            had with other properties at the last reading, and those FRR did
            not take
        :raises base.BackendError: when FRR does not answer
        """
        kind = resources.Announcement
        adds = resources.of_kind(kind, delta.wanted)
        # With the same next hop, FRR replaces the route when it is added.
        deletes = [*(old for old, new in resources.updates_of(kind, delta)
                     if old.nexthop != new.nexthop),
                   *resources.of_kind(kind, delta.delete)]
        known = self._known_hops((*adds, *deletes))
        failures = {r.ref: f'{r.nexthop} is no next hop of the agent in VRF '
                           f'"{self._vrf}"'
                    for r in (*adds, *deletes)
                    if (r.vrf, r.nexthop) not in known}
        failures.update({
            r.ref: 'the operator has this route with other properties: '
                   f'"{owner}"; remove that one'
            for r in (*adds, *deletes) if (owner := self._in_the_way(r))})
        adds = [r for r in adds if r.ref not in failures]
        deletes = [r for r in deletes if r.ref not in failures]
        if adds or deletes:
            attempts = itertools.repeat(None, _ATTEMPTS)
            with self.refreshes.change([r.prefix for r in deletes],
                                       [r.prefix for r in adds]):
                failures.update(self._change(adds, deletes, attempts))
            if 'staticd' not in self._running(deletes):
                # Without staticd, vtysh reports no error, so read the result.
                missed = self._missed(adds, deletes)
                failures.update({r.ref: 'FRR did not take it' for r in missed
                                 if r.ref not in failures})
        return failures

    def _in_the_way(self, route: resources.Announcement) -> str:
        """The operator's route with the same key, as in the line, or ''."""
        return self._foreign.get(route.key) or (
            route.nexthop.endswith(_ONLINK) and
            self._gateways.get(route.key)) or ''

    def in_effect(self, announced: list[resources.Resource]
                  ) -> set[resources.Ref]:
        """The static routes that zebra knows, selected or not.

        Beside a kernel route that is still to go, they cannot be selected yet.

        :raises base.BackendError: when FRR does not answer
        """
        with calls.explained(_WHAT):
            known = vtysh.read_known(self._vrf, 'static')
        return {
            r.ref for r in resources.of_kind(resources.Announcement, announced)
            if r.prefix in known}

    def _change(self, adds: list[resources.Announcement],
                deletes: list[resources.Announcement],
                attempts: Iterator[object]) -> base.Failures:
        """Write routes, and in halves after a failure, one attempt for each.

        FRR rejects a whole transaction for one bad route, such as a route that
        the operator has as a blackhole.
        """
        with calls.explained(_WHAT):
            refused, output = vtysh.change_static(
                self._vrf,
                [[r.prefix, r.nexthop, r.tag or _own_tag(r)] for r in adds],
                [[r.prefix, r.nexthop] for r in deletes])
        failures = calls.of_lists(refused, adds=adds, deletes=deletes)
        # vtysh may print a message without a failure.
        missed = [r for r in self._missed(adds, deletes)
                  if r.ref not in failures] if output else []
        if not missed:
            return failures
        if len(adds) + len(deletes) == 1 or next(attempts, self) is self:
            reason = 'FRR rejected it: ' + ' '.join(output.split())
            return failures | {r.ref: reason for r in missed}
        wanted = set(adds)
        middle = (len(missed) + 1) // 2
        for half in (missed[:middle], missed[middle:]):
            if half:
                failures.update(self._change(
                    [r for r in half if r in wanted],
                    [r for r in half if r not in wanted], attempts))
        return failures

    def _missed(self, adds: list[resources.Announcement],
                deletes: list[resources.Announcement]
                ) -> list[resources.Announcement]:
        """Not added or removed, as a new reading shows."""
        there = set(self.read(frozenset()))
        return ([r for r in adds if r not in there] +
                [r for r in deletes if r in there])

    def _known_hops(self, routes: Iterable[resources.Announcement]
                    ) -> set[tuple[str, str]]:
        """The (VRF, next hop) of routes that a route of the agent may have.

        Thousands of routes have one next hop, and options are slow to read.
        """
        vrf = self._vrf
        return {(vrf, hop) for hop in {r.nexthop for r in routes
                                       if r.vrf == vrf}
                if self._is_nexthop(hop)}

    def close(self) -> None:
        """End the thread of the soft refreshes."""
        self.refreshes.close()

    def _running(self, withdrawn: Sequence[resources.Announcement]
                 ) -> Sequence[str]:
        """Empty when not known."""
        try:
            names: Sequence[str] = vtysh.read_daemons(bool(withdrawn))
        except context.FAILURES:
            return ()
        return names


def _tagged(rest: str) -> tuple[str, int | None]:
    """The next hop and the tag of the rest of a line ('br-ex tag 4400001').

    A tag of another program stays in the text, which is no next hop then.
    """
    text = rest.removesuffix(_ONLINK)
    hop, _tag, number = text.partition(' tag ')
    known = (ownership.NETWORK_TAG if number == str(ownership.NETWORK_TAG)
             else ownership.tag(number))
    return (rest, None) if known is None else (
        hop + rest.removeprefix(text), known)


def _gateway(rest: str) -> str:
    """The next hop of a line that begins with an address and a device."""
    return ' '.join(rest.split(' ')[:2]) + _ONLINK


def _device(hop: str) -> str:
    """The device in a next hop, which may be beside an address."""
    return (hop.removesuffix(_ONLINK).partition(' ')[2]
            if hop.endswith(_ONLINK) else hop)


def _needs_tag(prefix: str, hop: str) -> bool:
    """Whether an operator may have such a route, if it has no tag."""
    return hop.endswith(_ONLINK) or not prefix.endswith(
        '/128' if ':' in prefix else '/32')


def _is_marked(prefix: str, hop: str, tag: int | None) -> bool:
    """Whether a route through a next hop of the agent is its own."""
    return (tag is not None if _needs_tag(prefix, hop)
            else tag != ownership.NETWORK_TAG)


def _own_tag(route: resources.Announcement) -> int:
    return (ownership.NETWORK_TAG if _needs_tag(route.prefix, route.nexthop)
            else 0)
