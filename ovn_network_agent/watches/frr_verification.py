# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Whether announced routes have arrived where they count.

FRR accepts a route before it knows what becomes of it.  Half a second after a
change, the observer asks zebra whether the changed routes are selected and
installed, and bgpd whether it advertises them.  At each full pass it asks
about all of them.  A look takes one process for up to 500 addresses, and none
where nothing has changed.

A route that is missing in zebra puts its backend in doubt; the next pass reads
that backend and adds the route again.  A route that is wrong twice in a row is
reported.  The pauses between two looks grow until all is right.
"""

import threading
import time

from oslo_log import log as logging

from ovn_network_agent import iptext
from ovn_network_agent import notices
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.frr import effect
from ovn_network_agent.privileged import bgp
from ovn_network_agent.privileged import context
from ovn_network_agent.privileged import readdress
from ovn_network_agent.watches import base

LOG = logging.getLogger(__name__)

# Seconds: from the change to the first look (bgpd sent it 0.1 to 0.3 s after
# the route, in the lab), to the second one, and the longest pause.
_FIRST = 0.5
_AGAIN = 1.0
_LAST = 30.0
# Between two repairs of zebra's knowledge of an address (trap T39).
_REPAIR_INTERVAL = 60.0
_ADDRESS = (notices.kernel('address'),)
# Protocol of zebra for what is announced, and the word for its backend.
_PROTOCOL = {resources.Announcement.kind: 'static',
             resources.AnnouncedRoute.kind: 'kernel'}
_DOUBT = {'static': notices.ZEBRA_STATIC, 'kernel': notices.ZEBRA_KERNEL}


def advertised(vrf, prefixes):
    """Which of these addresses BGP has told to some neighbour.

    :param vrf: name, '' for the default VRF
    :param prefixes: iterable of '198.51.100.10/32'
    :returns: set of them
    :raises OSError: or another of :data:`context.FAILURES`, when FRR cannot
        be asked
    """
    _active, known = bgp.read_effect(vrf, sorted(prefixes), True)
    return {prefix for prefix, neighbours in known.items() if neighbours}


class Verification(base.Observer):
    """Asks zebra and bgpd about what was announced.

    :param conf: the oslo.config ConfigOpts
    :param clock: function that returns monotonic seconds
    """

    def __init__(self, conf, clock=time.monotonic):
        self._conf = conf
        self._clock = clock
        self._trigger = None
        self._news = threading.Condition()
        self._stopped = False
        self._wanted = {}
        self._pending = set()
        self._suspects = {}
        self._due = None
        self._delay = _AGAIN
        self._all = False
        self._not_before = 0.0
        self.reasons = ()
        #: how often zebra was told of an address again
        self.repairs = 0

    def start(self, trigger):
        self._trigger = trigger
        threading.Thread(target=self._run, name='frr-verification',
                         daemon=True).start()

    def stop(self):
        with self._news:
            self._stopped = True
            self._news.notify_all()

    # -- what is to be looked at (loop thread) -----------------------------

    def after_pass(self, outcome, tracker, full):
        with self._news:
            if full:
                self._wanted = {
                    r.subject: _PROTOCOL[r.kind]
                    for r in tracker.wanted(_PROTOCOL)
                    if tracker.in_sync(r.ref)}
                self._look_at_all()
                return
            for verb, resource in outcome.applied:
                if resource.kind in _PROTOCOL:
                    self._note(verb, resource)

    def everything(self):
        """Look at all again: FRR was restarted (from any thread)."""
        with self._news:
            self._look_at_all()

    def _note(self, verb, resource):
        if verb == 'deleted':
            # Not what another method announces at this moment.
            if self._wanted.get(resource.subject) == _PROTOCOL[resource.kind]:
                del self._wanted[resource.subject]
        else:
            self._wanted[resource.subject] = _PROTOCOL[resource.kind]
            self._pending.add(resource.subject)
        self._soon()

    def _look_at_all(self):
        self._pending = set(self._wanted)
        self._all = True
        self._soon()

    def _soon(self):
        self._delay = _AGAIN
        due = self._clock() + _FIRST
        self._due = due if self._due is None else min(due, self._due)
        self._news.notify_all()

    # -- the thread --------------------------------------------------------

    def _run(self):
        while True:
            work = self._wait()
            if work is None:
                return
            self.look(*work)

    def _wait(self):
        """Wait until something is due.

        :returns: (dict of prefix to protocol, whether that is all), or None
            at the end
        """
        with self._news:
            while not self._stopped:
                now = self._clock()
                if self._due is not None and now >= self._due:
                    self._due = None
                    pending = {p: self._wanted[p] for p in
                               self._pending | self._suspects.keys()
                               if p in self._wanted}
                    everything, self._all = self._all, False
                    self._pending = set()
                    return pending, everything
                self._news.wait(None if self._due is None
                                else self._due - now)
            return None

    def look(self, pending, everything=True):
        """Look once and report.

        :param pending: dict of prefix to protocol
        :param everything: whether to look at what announcing depends on
            even when nothing is wrong with these
        """
        try:
            problems, reasons = self._examine(pending, everything)
        except Exception as error:
            # All are as suspect as before, and still to be looked at.  A
            # mistake of ours is said, and does not end the looking.
            if not isinstance(error, context.FAILURES):
                LOG.exception('Looking at what FRR announces failed')
                error = f'{type(error).__name__}: {error}'
            problems = {p: kind for p, kind in self._suspects.items()
                        if p in pending}
            with self._news:
                self._pending |= pending.keys()
            reasons = (f'what FRR announces cannot be checked: {error}',)
        self._suspects = problems
        self._again(bool(problems or reasons))
        if reasons != self.reasons:
            self.reasons = reasons
            # What is announced now may be the proof that was missing.
            self._trigger.fire('announcements checked',
                               revived=(notices.BGP_CHANGED,))

    def _examine(self, pending, everything):
        vrf = self._conf.frr.vrf_name
        asks_bgp = self._conf.frr.bgp_check
        problems = {}
        if pending:
            found = effect.Found(*bgp.read_effect(vrf, sorted(pending),
                                                  asks_bgp))
            for prefix, protocol in pending.items():
                wrong = effect.problem(prefix, protocol, found, asks_bgp)
                if wrong is not None:
                    problems[prefix] = wrong
        if not self._wanted or not (
                problems or everything or self.reasons):
            return problems, ()
        around = effect.Surroundings(**bgp.read_surroundings(vrf, asks_bgp))
        # zebra and bgpd take a moment, so only what was so before, too.
        certain = {p: kind for p, kind in problems.items()
                   if p in self._suspects}
        self._mend({p for p in problems if problems[p] == effect.INACTIVE},
                   {p for p in certain if certain[p] == effect.INACTIVE},
                   pending, around)
        return problems, effect.reasons(certain, dict(self._wanted), around,
                                        vrf, self._nexthop)

    @property
    def _nexthop(self):
        if self._conf.frr.vrf_name:
            return self._conf.veth_leak.veth_nexthop
        return self._conf.bridge_dev

    def _again(self, troubled):
        """Look again soon, at what is not right."""
        with self._news:
            if not troubled:
                return
            due = self._clock() + self._delay
            self._delay = min(self._delay * 2, _LAST)
            self._all = True
            self._due = due if self._due is None else min(due, self._due)

    # -- repair ------------------------------------------------------------

    def _mend(self, inactive, certain, pending, around):
        """What is not in zebra is read, and added again if it is gone."""
        new = inactive - self._suspects.keys()
        stale = {_DOUBT[pending[p]] for p in new}
        if stale:
            self._trigger.fire('not in zebra', stale=stale)
        if (certain and self._conf.frr.vrf_name and
                not around.reaches(self._nexthop)):
            self._tell_zebra()

    def _tell_zebra(self):
        """Have the kernel tell zebra of the connected network once more."""
        now = self._clock()
        if now < self._not_before:
            return
        self._not_before = now + _REPAIR_INTERVAL
        ends = self._conf.veth_leak
        address = ends.veth_provider_ip or (
            iptext.address(ends.veth_nexthop) + 1)
        try:
            done = readdress.renew(ownership.VETH_PROVIDER, f'{address}/30')
        except context.FAILURES:
            # It may be missing now, and no change of ours wakes the loop.
            self._trigger.fire('address in doubt', stale=_ADDRESS)
            raise
        if done:
            self.repairs += 1
            LOG.warning('zebra did not know the network of %s on %s: the '
                        'address was set anew', address,
                        ownership.VETH_PROVIDER)
            self._trigger.fire('address set anew', stale=_ADDRESS)
            self.everything()
