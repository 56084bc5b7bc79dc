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

"""The file of peerings, which the view reads as rows beside those of OVN."""

from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent.files import flaws
from ovn_network_agent.files import watched
from ovn_network_agent.ovn import peer_file

LOG = logging.getLogger(__name__)

# Seconds between two looks; the second one that finds the same takes it in, so
# a change is in force within a second.
_INTERVAL = 0.4


class PeersFile:
    """See :class:`ovn.sources.Table`.

    :param conf: the oslo.config ConfigOpts
    :raises flaws.BadFile: when the file cannot be used at the start
    """

    def __init__(self, conf):
        self._conf = conf
        self.content = peer_file.Content({})
        self._file = watched.Watched(
            lambda: conf.network_peer.peers_file,
            lambda: peer_file.load(conf), self._put,
            'peerings of the file', _INTERVAL)
        self.start, self.stop = self._file.start, self._file.stop

    @property
    def rows(self):
        """The ends of the peerings, see :class:`ovn.sources.Table`."""
        return self.content.ends

    @property
    def reasons(self):
        """Why an entry, or a newer file, is not in force, a tuple of str."""
        left_out = self.content.flaws
        return (*self._file.reasons,
                *((flaws.first(left_out),) if left_out else ()))

    def _put(self, content):
        if content == self.content:
            return
        self.content = content
        LOG.info('%s has %d peerings', self._conf.network_peer.peers_file,
                 len(content.ends) // 2)
        for flaw in content.flaws:
            LOG.error('%s', flaw)


def of_drivers(conf, drivers):
    """A :class:`PeersFile` if a driver asks about peerings, else None."""
    return PeersFile(conf) if any(
        model.Peering in driver.SUBJECTS for driver in drivers) else None


def warnings(conf):
    """What looks unintended, or costs a peering, but prevents no start.

    :param conf: the oslo.config ConfigOpts, without :func:`problems`
    :returns: list of str
    """
    return [*peer_file.load(conf).flaws]


def problems(conf):
    """Why the file cannot be used at all.

    :param conf: the oslo.config ConfigOpts
    :returns: list of str
    """
    try:
        peer_file.load(conf)
    except flaws.BadFile as error:
        return list(error.messages)
    return []
