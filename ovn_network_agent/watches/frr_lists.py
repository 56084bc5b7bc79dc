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



"""The watch of FRR's prefix lists for changes by others.

FRR notifies nobody of a changed list, and vtysh starts a process.  So the
watch asks zebra and bgpd each second over their sockets.  A list of all lines
takes the daemons time, in which bgpd does nothing else.  So the watch asks for
at most :data:`LINES` lines in a second on average, and for the number of lines
in between (:doc:`adr/0020-watches`).
"""

import math
import threading

from oslo_log import log as logging

from ovn_network_agent import notices
from ovn_network_agent.privileged import context
from ovn_network_agent.privileged import prefix_lists
from ovn_network_agent.watches import base

LOG = logging.getLogger(__name__)

_INTERVAL = 1.0
# Looks that are left out after a failure: a daemon that hangs is not asked
# each second.
_PATIENCE = 4
#: Most lines a second, on average, that the daemons list for the watch.
LINES = 500


class Lists(base.Observer):
    """Checks the prefix lists once a second.

    :param conf: the oslo.config ConfigOpts
    :param pace: :class:`watches.pace.Pace`
    :param read: function as :func:`prefix_lists.read_digest`
    """

    def __init__(self, conf, pace, read=prefix_lists.read_digest):
        self._conf = conf
        self._pace = pace
        self._read = read
        self._stop = threading.Event()
        # The name of the list, and from (daemon, whether of all lines) to the
        # digest.
        self._name = ''
        self._seen = {}
        self._until_whole = 0
        self._left_out = 0
        self._trouble = None

    def start(self, trigger):
        """Start the checks, once a second.

        :param trigger: not needed, because the pace wakes the loop
        """
        threading.Thread(target=self._run, name='watch-prefix-lists',
                         daemon=True).start()

    def stop(self):
        """End the checks after the present one, without a wait."""
        self._stop.set()

    def _run(self):
        while True:
            self.look()
            if self._stop.wait(_INTERVAL):
                return

    def look(self):
        """Check once."""
        name = self._conf.frr.frr_prefix_list
        if name != self._name:
            self._name, self._seen, self._until_whole = name, {}, 0
        if not name:
            return
        if self._left_out:
            self._left_out -= 1
            return
        whole = self._until_whole <= 0
        try:
            found = self._read(name, whole)
        except context.FAILURES as error:
            self._left_out = _PATIENCE
            self._say(str(error))
            return
        self._say(None)
        self._until_whole -= 1
        if whole:
            lines = max((lines for _digest, lines in found.values()),
                        default=0)
            self._until_whole = math.ceil(lines / LINES) - 1
        self._compare(found, whole)

    def _compare(self, found, whole):
        """Report changes, and each first reading of all lines.

        The backend may have read the lists before the first reading here.
        """
        changed = []
        for daemon, (digest, _lines) in found.items():
            before = self._seen.get((daemon, whole), None if whole
                                    else digest)
            self._seen[daemon, whole] = digest
            if before != digest:
                changed.append(daemon)
        if changed:
            self._pace.notice(
                notices.PREFIX_LISTS, f'prefix list {self._name} has changed '
                f'in {" and ".join(changed)}; FRR names no author')

    def _say(self, trouble):
        if trouble is not None and self._trouble is None:
            LOG.warning('A removed entry of the prefix list is only noticed '
                        'at the reconcile_interval: %s', trouble)
        self._trouble = trouble
