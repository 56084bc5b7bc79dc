# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether the kernel has the routes that zebra calls installed.

The kernel silently removes the routes of a nexthop object that another program
removes, as systemd-networkd does by default.  After each full comparison the
observer looks for the agent's static routes and the VRF's default routes, and
asks zebra about those that the kernel lacks.  They are FRR's, so the agent
does not repair them.
"""

from collections.abc import Iterator
import socket
import threading

from oslo_config import cfg

from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.common import trigger
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.watches import base
from ovn_network_agent.watches import kernel

# Seconds from a full comparison to the check, from there to a second one, and
# between checks while routes are missing.
_FIRST, _SECOND, _AGAIN = 0.5, 1.0, 5.0
_NAMED = 5  # Prefixes in the reason and in one question to zebra, at most
_PIECE = 500
_READ = 'frr_static'  # its reading says that FRR was in doubt
_KINDS = {resources.Announcement.kind}
_DEFAULTS = {'0.0.0.0/0': socket.AF_INET, '::/0': socket.AF_INET6}


class Installed(base.Observer):
    """Looks for routes that the kernel lacks, after each full comparison."""

    _trigger: trigger.Trigger

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._due = threading.Event()
        self._stop = threading.Event()
        self._touches: int | None = None
        self._wanted: frozenset[str] = frozenset()
        # Routes that were missing at the last check.
        self._suspects: frozenset[str] = frozenset()
        # The last reading: table and wanted routes, what the kernel had, and
        # what was not there.
        self._question: tuple[int, frozenset[str]] | None = None
        self._seen: routes.Seen | None = None
        self._absent: frozenset[str] = frozenset()

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the thread."""
        self._trigger = trigger
        threading.Thread(target=self._run, name='frr-installed',
                         daemon=True).start()

    def after_pass(self, outcome: base.Outcome, tracker: base.Tracker,
                   full: bool) -> None:
        """Have the thread look after a full comparison, and a resync."""
        if not full and _READ not in dict(outcome.readings):
            return
        if self._touches != tracker.touches(_KINDS):
            self._touches = tracker.touches(_KINDS)
            self._wanted = frozenset(
                each.subject for each in tracker.wanted(_KINDS)
                if tracker.in_sync(each.ref))
        self._due.set()

    def stop(self) -> None:
        """End the thread after the present check, without a wait."""
        self._stop.set()
        self._due.set()

    def _run(self) -> None:
        while True:
            if not self._suspects:
                self._due.wait()
            self._due.clear()
            if self._stop.wait(self._pause()):
                return
            if self.look():
                self._trigger.fire('routes of FRR looked for')

    def _pause(self) -> float:
        if not self._suspects:
            return _FIRST
        return _AGAIN if self.reasons else _SECOND

    def look(self) -> bool:
        """Check once; whether the reasons have changed.

        A route is missing when two checks in a row have missed it.
        """
        before, failure = self.reasons, ''
        try:
            missing = self._missing()
        except Exception as error:
            missing, failure = self._suspects, base.failed_check(
                'The check of the routes of FRR in the kernel', error)
        if failure:
            self.reasons = ('it is unknown whether the kernel has the routes '
                            f'of FRR: {failure}',)
        else:
            self.reasons = self._reasons(missing & self._suspects)
            self._suspects = missing
        return self.reasons != before

    def _missing(self) -> frozenset[str]:
        vrf, wanted = self._conf.frr.vrf_name, self._wanted
        lacking, installed = sorted(self._lacking(vrf, wanted)), set[str]()
        for at in range(0, len(lacking), _PIECE):
            some = lacking[at:at + _PIECE]
            active, _advertised = bgp.read_effect(vrf, some, False)
            # An address that left meanwhile may be learned by BGP.
            installed |= {prefix for prefix in some
                          if 'static' in active.get(prefix, ()) or
                          prefix in _DEFAULTS and
                          set(active.get(prefix, ())) - {'kernel'}}
        # zebra may have installed them since the kernel was read.
        return frozenset(installed and installed.intersection(
            self._lacking(vrf, wanted)))

    def _lacking(self, vrf: str, wanted: frozenset[str]) -> Iterator[str]:
        table = resources.MAIN_TABLE
        if vrf:
            with connection.Connection() as opened:
                link = links.named(opened, {vrf}).get(vrf)
                if link is None or not link.vrf_table:
                    return
                table = link.vrf_table
                yield from (
                    default for default, family in _DEFAULTS.items()
                    if not routes.has_default(opened, link.index, table,
                                              family))
        if self._question != (table, wanted):
            self._question, self._seen = (table, wanted), None
        found, self._seen = routes.read_again(kernel.ZEBRA_STATIC, self._seen)
        if found is not None:
            self._absent = wanted.difference(
                route.dst for _digest, some in found for route in some or ()
                if route.table == table)
        yield from self._absent

    def _reasons(self, missing: frozenset[str]) -> tuple[str, ...]:
        if not missing:
            return ()
        named = sorted(missing, key=lambda prefix: (
            not prefix.endswith('/0'), networks.family(prefix), prefix))
        more = len(named) - _NAMED
        where = (f'VRF {self._conf.frr.vrf_name}' if self._conf.frr.vrf_name
                 else 'the default VRF')
        return (
            f'{", ".join(named[:_NAMED])}'
            f'{f" and {more:d} more" if more > 0 else ""} in {where}: zebra '
            'reports the route as installed, and the kernel does not use it; '
            'another program has removed it, which "ovn-network-agent-ctl '
            'doctor network-managers" looks for; once that is repaired, drain '
            'this node and restart FRR, which makes its routes again',)
