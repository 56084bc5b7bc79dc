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

"""Whether this node could announce a gateway that comes to it.

A standby without working BGP is a dead end: OVN hands it the packets that
machines send, and the node has no way out for them.  So the observer looks
every other second whether the daemons run and a neighbour is established.
Where a vty socket can be used, the look costs no process.

The observer concludes nothing from a missing answer: FRR may hang, and the
last known state stays.

The only candidate that a gateway could go to is a standby again at once,
because its owner may wait for that in a stop.  But a neighbour has to have
announced something first: packets of machines need a way out from the first
moment on.
"""

import threading
import time

from oslo_log import log as logging

from ovn_network_agent.conf import plugins
from ovn_network_agent.privileged import bgp
from ovn_network_agent.privileged import context
from ovn_network_agent.watches import base

LOG = logging.getLogger(__name__)

# Seconds between two looks, and with a process for each ([frr]
# vtysh_wrapper), which may have to enter a container.
_INTERVAL = 2.0
_WITH_WRAPPER = 5.0
# Seconds that something has to be wrong, and right again, before that counts.
# Chosen: two looks in a row, as one may fall into a moment in which a session
# is made anew, and each change is a write to all groups; and no longer, since
# a drain may come any time.  A restart of FRR does count: it takes 7 to 10 s
# until a session is up (in the lab, with neighbours that try each second).
# STABLE is not for the only one that a gateway could go to: a drain goes there
# or nowhere, and is over only when that one announces.
SETTLE = 3.0
STABLE = 5.0
# Looks without an answer before that is said.
_PATIENCE = 2


def wanted(conf):
    """Whether anybody wants to know, and bgpd is the one to ask.

    :param conf: the oslo.config ConfigOpts
    """
    return (plugins.asked(conf, plugins.RANKING) and conf.frr.bgp_check and
            conf.gateway_drain.standby_needs_bgp)


def daemons(conf):
    """Names of the daemons without which nothing is announced, a list."""
    return ['zebra', 'bgpd', *(
        ['staticd'] if conf.fip_route.announce_method == 'static' else ())]


def lack(missing, neighbours, vrf):
    """Why nothing could be announced, '' when it could.

    :param missing: names of daemons that do not run
    :param neighbours: dict of BGP neighbour to its state; without any, the
        operator announces in a way that is not known here
    :param vrf: name, '' for the default VRF
    """
    if missing:
        return f'{" and ".join(missing)} of FRR not running'
    if not neighbours or 'Established' in neighbours.values():
        return ''
    where = f'VRF {vrf}' if vrf else 'the default VRF'
    return (f'no BGP neighbour of {where} is established '
            f'({len(neighbours)} configured)')


class Judgement:
    """What follows from one look after the other.  Pure.

    :ivar lack: why nothing could be announced, '' when it could, or nobody
        knows
    """

    def __init__(self):
        self.lack = ''
        self._since = None
        self._asked = False

    def take(self, found, now, at_once=False):
        """Take in what was found.

        :param found: as of :func:`lack`, None when there was no answer
        :param now: monotonic seconds
        :param at_once: whether nothing is to be lacking from now on if so it
            was found
        :returns: whether :attr:`lack` is another one
        """
        if found is None:
            self._since = None
            return False
        # At the start nothing is known that would have to change: a node
        # that boots must not be a standby for three seconds.
        stable = 0.0 if at_once else STABLE
        wait = (SETTLE if found else stable) if self._asked else 0.0
        self._asked = True
        if bool(found) == bool(self.lack):
            self._since = None
        elif self._since is None:
            self._since = now
        if self._since is not None and now < self._since + wait:
            return False
        before, self.lack, self._since = self.lack, found, None
        return self.lack != before


class Fitness(base.Observer):
    """Looks every other second whether BGP of this node works.

    :param conf: the oslo.config ConfigOpts
    :param clock: function that returns monotonic seconds
    """

    def __init__(self, conf, clock=time.monotonic):
        self._conf = conf
        self._clock = clock
        self._judgement = Judgement()
        self._silent = 0
        self._needed = False
        self._trigger = None
        self._stop = threading.Event()

    @property
    def unfit(self):
        return bool(self._judgement.lack)

    def start(self, trigger):
        self._trigger = trigger
        threading.Thread(target=self._run, name='frr-fitness',
                         daemon=True).start()

    def seen(self, snapshot):
        chassis = snapshot.node.chassis
        self._needed = any(group.depends_on(chassis)
                           for group in snapshot.groups)

    def stop(self):
        self._stop.set()

    def _run(self):
        interval = (_WITH_WRAPPER if self._conf.frr.vtysh_wrapper
                    else _INTERVAL)
        while True:
            if self.look_once():
                self._trigger.fire('fitness')
            if self._stop.wait(interval):
                return

    def look_once(self):
        """Look.

        :returns: whether there is something new to say
        """
        found, told, trouble = self._ask()
        self._silent = self._silent + 1 if trouble else 0
        before = self.reasons
        if self._judgement.take(found, self._clock(),
                                told and self._needed):
            LOG.info('Whether this node could announce a gateway: %s',
                     self._judgement.lack or 'yes')
        self.reasons = tuple(self._reasons(trouble))
        return self.reasons != before

    def _ask(self):
        """What is lacking, and whether the fabric has told something.

        :returns: (as of :func:`lack`, None when not known; bool; why it is
            not known)
        """
        vrf = self._conf.frr.vrf_name
        try:
            missing, neighbours, heard = bgp.read_sessions(
                vrf, daemons(self._conf))
            return (lack(missing, neighbours, vrf),
                    bool(heard) or not neighbours, '')
        except context.FAILURES as error:
            return None, False, str(error)
        except Exception as error:
            # A mistake of ours is said, and does not end the looking.
            LOG.exception('Looking whether BGP could announce failed')
            return None, False, f'{type(error).__name__}: {error}'

    def _reasons(self, trouble):
        if self._judgement.lack:
            yield ('this node could not announce a gateway, and is no '
                   f'standby until it can: {self._judgement.lack}')
        if self._silent >= _PATIENCE:
            yield ('whether this node could announce a gateway cannot be '
                   f'found out, and what was known stays: {trouble}')
