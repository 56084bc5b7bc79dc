# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses by state and sessions of BGP, each asked on a thread of its own.

The loop and bgpd may hang, and "status" has to come all the same, so it waits
for an answer only a moment, and then has the last one.
"""

import collections
from collections.abc import Callable
from collections.abc import Sequence
import threading
import time
from typing import Any
from typing import Generic
from typing import TypeVar

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent.control import resource_rows
from ovn_network_agent.control.reports import addresses
from ovn_network_agent.forward import vip_state
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.runtime import questions
from ovn_network_agent.runtime.process import mode

_Answer = TypeVar('_Answer')

_AGE = 2.0  # seconds for which an answer is new
_WAIT = 2.0  # seconds for a new one
# States that need no look, and the most others with their resources.
_WELL = (resource_rows.State.ANNOUNCED.value,
         resource_rows.State.FORWARDED.value,
         resource_rows.State.OMITTED.value)
STUCK = 50


class Kept(Generic[_Answer]):
    """An answer, asked for by one thread at a time; for any thread.

    :param age: seconds for which an answer is new
    """

    def __init__(self, ask: Callable[[], _Answer], age: float = _AGE) -> None:
        self._ask = ask
        self._age = age
        self._lock = threading.Lock()
        self._asked = -age
        self._done: threading.Event | None = None
        self._last: _Answer | None = None

    def get(self, wait: float = _WAIT, joins: bool = True
            ) -> tuple[_Answer | None, bool]:
        """The last answer, None for none yet; whether it is new.

        :param wait: seconds for a new one
        :param joins: whether to wait, too, for what another call asks
        """
        with self._lock:
            if time.monotonic() < self._asked + self._age:
                return self._last, True
            done = self._done
            if done is None:
                done = self._done = threading.Event()
                threading.Thread(target=self._run, args=(done,), daemon=True,
                                 name='control-kept').start()
            elif not joins:
                wait = 0.0
        new = done.wait(wait)
        return self._last, new

    def _run(self, done: threading.Event) -> None:
        try:
            found = self._ask()
            with self._lock:
                self._last, self._asked = found, time.monotonic()
        finally:
            with self._lock:
                self._done = None
            done.set()


class Situation:
    """What "status" and the page have beside the report."""

    def __init__(self, conf: cfg.ConfigOpts,
                 snapshot: Callable[[], model.Snapshot | None],
                 standings: Callable[[], Sequence[vip_state.VipStatus]],
                 names: Callable[[], directory.Directory],
                 parts: questions.Internals | None) -> None:
        self._conf = conf
        self._snapshot = snapshot
        self._standings = standings
        self._names = names
        self._parts = parts
        self._addresses = Kept(self._ask_addresses)
        self._sessions = Kept(self._ask_sessions)

    def build(self) -> dict[str, Any]:
        """The keys "addresses" and "bgp" of the reference, and "stuck"."""
        found: dict[str, Any] = {'addresses': {'counts': {}, 'problem': ''},
                                 'stuck': [],
                                 'bgp': {'sessions': [], 'problem': ''}}
        if self._parts is not None:
            counted, new = self._addresses.get()
            found.update(counted or {'addresses': {
                'counts': {}, 'problem': 'the loop has not answered yet'}})
            if counted and not new:
                found['addresses'] = {
                    **found['addresses'], 'problem': 'an earlier count: the '
                    'loop has not answered yet'}
        if mode.name(self._conf) == mode.FULL:
            asked, new = self._sessions.get()
            if asked is None or not new:
                asked = {'sessions': [], 'problem':
                         f'bgpd has not answered within {_WAIT:g} s'}
            found['bgp'] = asked
        return found

    def _ask_addresses(self) -> dict[str, Any]:
        assert self._parts is not None  # noqa: S101 - for mypy
        names, internals = self._names(), self._parts
        try:
            snapshot, table, standings = internals.questions.ask(lambda: (
                self._snapshot(), internals.reconciler.table(),
                self._standings()))
        except questions.NoAnswer as e:
            return {'addresses': {'counts': {}, 'problem': str(e)},
                    'stuck': []}
        known = addresses.Addresses(snapshot, table, standings, names,
                                    self._conf)
        rows = known.build()
        counts = collections.Counter(
            'withheld' if row['withheld'] else row['state'] for row in rows)
        bad = {row['address'] for row in rows if row['state'] not in _WELL}
        some = set(sorted(bad)[:STUCK])
        return {'addresses': {'counts': dict(sorted(counts.items())),
                              'problem': ''},
                'stuck': [{**row, 'layer': layer(row['resources'])}
                          for row in known.build(some.__contains__, '', True)
                          if row['state'] not in _WELL][:STUCK]}

    def _ask_sessions(self) -> dict[str, Any]:
        try:
            rows = bgp.read_peers(self._conf.frr.vrf_name)
        except context.FAILURES as e:
            why = getattr(e, 'strerror', None) or e
            return {'sessions': [], 'problem': f'bgpd cannot be asked: {why}'}
        now = time.time()
        return {'problem': '', 'sessions': [{
            'peer': peer, 'family': family, 'state': state,
            'since': resource_rows.time_text(seconds and now - seconds),
            'seconds': seconds, 'sent': sent, 'received': received}
            for peer, family, state, seconds, sent, received in rows]}


def layer(rows: Sequence[dict[str, Any]]) -> str:
    """Backend and kind of the first resource not in place, or ''."""
    return next((f'{row["backend"]}: {row["kind"]}' for row in rows
                 if row['state'] != 'in place'), '')
