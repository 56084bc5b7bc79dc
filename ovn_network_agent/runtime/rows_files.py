# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The files of operators that the view reads as rows, beside those of OVN."""

import dataclasses
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent.files import entries
from ovn_network_agent.files import flaws
from ovn_network_agent.files import watched
from ovn_network_agent.ovn import egress_file
from ovn_network_agent.ovn import peer_file

LOG = logging.getLogger(__name__)

# Seconds between two looks; the second one that finds the same takes it in, so
# a change is in force within a second.
_INTERVAL = 0.4


@dataclasses.dataclass(frozen=True)
class _Kind:
    """A kind of files.

    :ivar subject: the class of the subjects that are made of the rows
    :ivar table: of the rows, see :class:`ovn.sources.Sources`
    :ivar path: function(conf) of the name of the file
    :ivar load: function(conf) of the :class:`entries.Content`
    :ivar called: what an entry is, in the plural
    :ivar rows_each: the number of rows of an entry
    """

    subject: type
    table: tuple[str, str]
    path: Any
    load: Any
    called: str
    rows_each: int


_KINDS = (
    _Kind(model.Peering, peer_file.TABLE,
          lambda conf: conf.network_peer.peers_file, peer_file.load,
          'peerings', 2),
    _Kind(model.EgressIp, egress_file.TABLE,
          lambda conf: conf.egress_ip.file, egress_file.load,
          'egress addresses', 1))


class RowsFile:
    """See :class:`ovn.sources.Table`.

    :param conf: the oslo.config ConfigOpts
    :param kind: one of the kinds
    :raises flaws.BadFile: when the file cannot be used at the start
    """

    def __init__(self, conf, kind):
        self._conf, self._kind = conf, kind
        self.content = entries.Content({})
        self._file = watched.Watched(
            lambda: kind.path(conf), lambda: kind.load(conf), self._put,
            f'{kind.called} of the file', _INTERVAL)
        self.start, self.stop = self._file.start, self._file.stop

    @property
    def rows(self):
        """What is in force by key, see :class:`ovn.sources.Table`."""
        return self.content.rows

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
        LOG.info('%s has %d %s', self._kind.path(self._conf),
                 len(content.rows) // self._kind.rows_each, self._kind.called)
        for flaw in content.flaws:
            LOG.error('%s', flaw)


def of_drivers(conf, drivers):
    """The files with rows of subjects that some drivers ask about.

    :returns: dict of the table to :class:`RowsFile`
    :raises flaws.BadFile: when one cannot be used
    """
    asked = {subject for driver in drivers for subject in driver.SUBJECTS}
    return {kind.table: RowsFile(conf, kind) for kind in _KINDS
            if kind.subject in asked}


def warnings(conf):
    """What looks unintended, or costs an entry, but prevents no start.

    :param conf: the oslo.config ConfigOpts, without :func:`problems`
    :returns: list of str
    """
    return [flaw for kind in _KINDS for flaw in kind.load(conf).flaws]


def problems(conf):
    """Why files cannot be used at all.

    :param conf: the oslo.config ConfigOpts
    :returns: list of str
    """
    found = []
    for kind in _KINDS:
        try:
            kind.load(conf)
        except flaws.BadFile as error:
            found.extend(error.messages)
    return found
