# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The status of each VIP: whether it is announced, and why not.

Pure except for the log.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import enum
import typing

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.common import wording
from ovn_network_agent.conf import mode
from ovn_network_agent.model import port_forwards

if typing.TYPE_CHECKING:
    from ovn_network_agent.engine import outcome as outcomes
    from ovn_network_agent.engine import tracking

LOG = logging.getLogger(__name__)

_NAMED = 10


class State(enum.Enum):
    """The state of a VIP; see :class:`VipStatus`.

    DORMANT: this node must not announce the VIP now.  DOWN: no destination is
    alive.  REFUSED: it should be announced and cannot be.  WAITING: the
    announcement is still to come.
    """

    ANNOUNCED = 'announced'
    DORMANT = 'dormant'
    DOWN = 'down'
    REFUSED = 'refused'
    WAITING = 'waiting'


class VipStatus(typing.NamedTuple):
    """The status of one VIP."""

    vip: port_forwards.Vip  # with its present state
    state: State
    reason: str = ''  # '' if the state needs none


class VipStatuses:
    """Keeps the statuses of all VIPs, and logs their changes."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._key: object = None
        self._logged: dict[str, tuple[State, str] | None] = {}
        self._waiting = False
        # Replaced as a whole, so that any thread may read it.
        self.now: tuple[VipStatus, ...] = ()

    def after_pass(self, forwards: port_forwards.Forwards | None,
                   outcome: 'outcomes.Outcome',
                   tracker: 'tracking.Tracker') -> None:
        """Compute the statuses after a pass."""
        if forwards is None:
            return
        key = (forwards, self._conf.port_forward.vip_announce,
               outcome.failures, outcome.pending, outcome.left_out)
        if (key == self._key and not self._waiting and
                not any(self._is_about(resource)
                        for _verb, resource in outcome.applied)):
            return
        self._key = key
        self.now = tuple(_statuses(forwards, self._conf, outcome, tracker))
        self._waiting = any(status.state is State.WAITING
                            for status in self.now)
        self._say()

    def _is_about(self, resource: resources.Resource) -> bool:
        prefix = resource.subject or getattr(resource, 'network', None) or ''
        return prefix.partition('/')[0] in self._logged

    def _say(self) -> None:
        """In one line for all VIPs with the same change."""
        news: dict[tuple[State, str], list[str]] = {}
        for status in self.now:
            about = (status.state, status.reason)
            before = self._logged.setdefault(status.vip.address,
                                             None)
            # A waiting VIP is logged only when it has another state.
            if status.state is not State.WAITING and before != about:
                self._logged[status.vip.address] = about
                news.setdefault(about, []).append(status.vip.address)
        for removed in self._logged.keys() - {s.vip.address for s in self.now}:
            del self._logged[removed]
        for (state, reason), addresses in news.items():
            LOG.log(logging.WARNING if state in (State.DOWN, State.REFUSED)
                    else logging.INFO, 'VIP %s: %s%s', state.value,
                    wording.first(addresses, _NAMED),
                    f' ({reason})' if reason else '')


def _statuses(forwards: port_forwards.Forwards, conf: cfg.ConfigOpts,
              outcome: 'outcomes.Outcome',
              tracker: 'tracking.Tracker') -> Iterator[VipStatus]:
    # The wanted routes name their table.
    routes = {route.dst: route.ref for route in tracker.wanted(
        (resources.AnnouncedRoute.kind,))
        if isinstance(route, resources.AnnouncedRoute)} if any(
            not vip.managed and not vip.present
            for vip in forwards.vips) else {}
    problems = {address: problem.text for problem in outcome.left_out
                for address in problem.addresses}
    for vip in forwards.vips:
        silent = _silent(vip, forwards.gateway, conf)
        yield VipStatus(vip, *(silent or _announced(
            vip, routes, conf, outcome.failures, problems, tracker)))


def _silent(vip: port_forwards.Vip, gateway: bool | None,
            conf: cfg.ConfigOpts) -> tuple[State, str] | None:
    """Why a VIP must not be announced, or None."""
    if vip.dead:
        return State.DOWN, 'none of its destinations is alive'
    if mode.forwards_only(conf) and not (vip.managed or vip.present):
        return State.DORMANT, ('without OVN only managed VIPs are announced; '
                               'set manage_vip: true, or lead its packets '
                               'here by other means')
    if conf.port_forward.vip_announce == 'with-gateway' and not gateway:
        return State.DORMANT, ('no router has its gateway here'
                               if gateway is False
                               else 'OVN has not been seen yet')
    return None


def _announced(vip: port_forwards.Vip, routes: Mapping[str, resources.Ref],
               conf: cfg.ConfigOpts, failures: Mapping[resources.Ref, str],
               problems: Mapping[str, str],
               tracker: 'tracking.Tracker') -> tuple[State, str]:
    # The other announcement would look like that of the VIP.
    if vip.taken:
        return State.REFUSED, f'{vip.taken} has this address'
    length = 128 if ':' in vip.address else 32
    prefix = f'{vip.address}/{length:d}'
    found = next((ref for ref in (
        resources.Ref(resources.VipAddress.kind,
                      (conf.port_forward.port_forward_dev, prefix)),
        resources.Ref(resources.Announcement.kind,
                      (conf.frr.vrf_name, prefix)),
        routes.get(prefix)) if ref and tracker.desired(ref)), None)
    line = resources.Ref(resources.PrefixListEntry.kind, (
        conf.frr.frr_prefix_list, prefix, length, length))
    refs = [ref for ref in (found, line) if ref and tracker.desired(ref)]
    for ref in refs:
        if ref in failures:
            return State.REFUSED, f'{ref.kind}: {failures[ref]}'
    if not all(tracker.in_sync(ref) for ref in refs):
        return State.WAITING, ''
    problem = problems.get(vip.address)
    if found or (vip.present and not vip.managed and not problem):
        return State.ANNOUNCED, '' if found else 'its address was there'
    return State.REFUSED, problem or 'nothing announces it'
