# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether this node could announce a gateway port that moves here.

OVN would send packets to a standby without working BGP, a dead end.  Every
other second the observer looks for the daemons and an established neighbour.
Without an answer (FRR may hang) the last known state stays.

The only possible successor of an owner, which may wait for it in a stop, is a
standby again as soon as a neighbour has announced a way out.

A node that stops asks about the present: an owner whose FRR came back some
seconds ago serves its ports, and waits for a successor.
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import threading
import time

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent.common import trigger
from ovn_network_agent.conf import plugins
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.watches import base

LOG = logging.getLogger(__name__)

_INTERVAL = 2.0  # Seconds; each check is a process with [frr] vtysh_wrapper
_WITH_WRAPPER = 5.0
_LACKING = 0.5  # Likewise, while something is lacking, without a process
# Seconds of BGP being unfit (SETTLE) or fit (STABLE) before the change counts.
# Each change is a write to all groups, and a session may just be made again.
# More than two checks would be too late for a drain.  After a restart of FRR a
# session is up in 7 to 10 s in the lab.  A drain may wait for the only
# possible successor, which is spared STABLE.
SETTLE = 3.0
STABLE = 5.0
_SILENT_CHECKS = 2  # before a report


def wanted(conf: cfg.ConfigOpts) -> bool:
    """Whether a driver uses the result, and bgpd may be asked."""
    return bool(plugins.requested(conf, plugins.RANKING) and
                conf.frr.bgp_check and conf.gateway_drain.standby_needs_bgp)


def daemons(conf: cfg.ConfigOpts) -> list[str]:
    """Names of the daemons that announcements need."""
    return ['zebra', 'bgpd', *(
        ['staticd'] if conf.fip_route.announce_method == 'static' else ())]


def lack(missing: Collection[str], neighbours: Mapping[str, str],
         vrf: str) -> str:
    """The reason why nothing could be announced, '' without one.

    :param neighbours: their states; none are no reason, as the operator may
        announce in another way
    """
    if missing:
        return f'{" and ".join(missing)} of FRR not running'
    if not neighbours or 'Established' in neighbours.values():
        return ''
    where = f'VRF {vrf}' if vrf else 'the default VRF'
    return (f'no BGP neighbour of {where} is established '
            f'({len(neighbours)} configured)')


class Judgement:
    """Derives the fitness from a row of checks.  Pure.

    :param stable: seconds for which BGP has to be fit again
    """

    def __init__(self, stable: float = STABLE) -> None:
        self.lack = ''
        self._stable = stable
        # Monotonic seconds since when the last checks differ from ``lack``.
        self.differs_since: float | None = None
        self.asked = False  # there was an answer

    def take(self, found: str | None, now: float,
             immediate: bool = False) -> bool:
        """Take the result of a check; whether :attr:`lack` has changed.

        :param now: monotonic seconds
        :param immediate: whether a fit result counts without a wait
        """
        if found is None:
            self.differs_since = None
            return False
        # A node that boots must not be unfit for three seconds.
        stable = 0.0 if immediate else self._stable
        wait = (SETTLE if found else stable) if self.asked else 0.0
        self.asked = True
        if bool(found) == bool(self.lack):
            self.differs_since = None
        elif self.differs_since is None:
            self.differs_since = now
        if self.differs_since is not None and now < self.differs_since + wait:
            return False
        before, self.lack, self.differs_since = self.lack, found, None
        return self.lack != before


class Fitness(base.Observer):
    """Checks every other second whether BGP of this node works."""

    _trigger: trigger.Trigger

    def __init__(self, conf: cfg.ConfigOpts,
                 stable: float = STABLE) -> None:
        self._conf = conf
        self.judgement = Judgement(stable)
        self._silent = 0
        self._needed = False
        self._missing: Sequence[str] = ()
        self._known: tuple[object, object] | None = None
        self._stop = threading.Event()

    def awaited(self) -> bool:
        """Whether a daemon did not run at the last check; on any thread."""
        return bool(self._missing)

    @property
    def unfit(self) -> bool:  # type: ignore[override]
        """Whether the last settled result was that BGP cannot announce."""
        return bool(self.judgement.lack)

    @property
    def recovers(self) -> bool:  # type: ignore[override]
        """Whether BGP is unfit by the settled result, not by the last one."""
        return self.unfit and self.judgement.differs_since is not None

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the checks, every other second."""
        self._trigger = trigger
        threading.Thread(target=self._run, name='frr-fitness',
                         daemon=True).start()

    def seen(self, snapshot: model.Snapshot) -> None:
        """Note whether some group has no other successor than this chassis."""
        known = snapshot.node.chassis, snapshot.groups
        if known == self._known:
            return
        self._known = known
        self._needed = any(group.depends_on(snapshot.node.chassis)
                           for group in snapshot.groups)

    def stop(self) -> None:
        """End the checks after the present one, without a wait."""
        self._stop.set()

    def _run(self) -> None:
        while True:
            if self.check():
                self._trigger.fire('fitness')
            if self._stop.wait(self._pause()):
                return

    def _pause(self) -> float:
        if self._conf.frr.vtysh_wrapper:
            return _WITH_WRAPPER
        return _LACKING if self.unfit else _INTERVAL

    def check(self) -> bool:
        """Check once; whether the reasons have changed."""
        found, answered, failure = self._ask()
        self._silent = self._silent + 1 if failure else 0
        before = self.reasons
        if self.judgement.take(found, time.monotonic(),
                               answered and self._needed):
            LOG.info('Whether this node could announce a gateway: %s',
                     self.judgement.lack or 'yes')
        self.reasons = tuple(self._reasons(failure))
        return self.reasons != before

    def _ask(self) -> tuple[str | None, bool, str]:
        """Ask FRR.

        :returns: (result of :func:`lack`, None without an answer; whether a
            neighbour has announced a route; why there is no answer, or '')
        """
        vrf = self._conf.frr.vrf_name
        try:
            missing, neighbours, senders = bgp.read_sessions(
                vrf, daemons(self._conf))
            if not missing and not neighbours:
                # The fabric may have IPv6 alone.
                missing, neighbours, senders = bgp.read_sessions(
                    vrf, daemons(self._conf), 6)
            self._missing = missing
            return (lack(missing, neighbours, vrf),
                    bool(senders) or not neighbours, '')
        except Exception as error:
            return None, False, base.failed_check(
                'The check whether BGP can announce', error)

    def _reasons(self, failure: str) -> Iterator[str]:
        if self.judgement.lack:
            yield ('this node cannot announce a gateway, so it is no standby '
                   f'until it can: {self.judgement.lack}')
        if self._silent >= _SILENT_CHECKS:
            yield ('it is unknown whether this node can announce a gateway, '
                   f'so the last known state is kept: {failure}')
