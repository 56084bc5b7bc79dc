# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The files of operators that the view reads as rows, beside OVN's."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import typing
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.common import wording
from ovn_network_agent.drivers import base
from ovn_network_agent.files import file_problems
from ovn_network_agent.files import reading
from ovn_network_agent.files import watched
from ovn_network_agent.ovn.egress import egress_file
from ovn_network_agent.ovn.peering import peer_intents

LOG = logging.getLogger(__name__)

# Seconds between two looks; the second one that finds the same takes it in.
_INTERVAL = 0.4


class _Kind(typing.NamedTuple):
    subject: type  # made of the rows
    table: tuple[str, str]  # see ovn.sources.Sources
    path: Callable[[cfg.ConfigOpts], str]
    load: Callable[[cfg.ConfigOpts], reading.Content[Any]]
    called: str  # an entry
    rows_each: int


_KINDS = (
    _Kind(model.Peering, peer_intents.TABLE,
          lambda conf: conf.network_peer.peers_file, peer_intents.load,
          'peering', 2),
    _Kind(model.EgressIp, egress_file.TABLE,
          lambda conf: conf.egress_ip.file, egress_file.load,
          'egress address', 1))


class RowsFile:
    """See :class:`ovn.sources.Table`.

    :raises file_problems.BadFile: when the file cannot be used at the start
    """

    def __init__(self, conf: cfg.ConfigOpts, kind: _Kind) -> None:
        self._conf, self._kind = conf, kind
        self.content: reading.Content[Any] = reading.Content({})
        self._file = watched.Watched(
            lambda: kind.path(conf), lambda: kind.load(conf), self._put,
            f'{wording.plural(kind.called)} of the file', _INTERVAL)
        self.start: Callable[[triggers.Trigger], None] = self._file.start
        self.stop: Callable[[], None] = self._file.stop

    @property
    def rows(self) -> Mapping[str, Any]:
        """What is in force by key."""
        return self.content.rows

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why an entry, or a newer file, is not in force."""
        left_out = self.content.flaws
        return (*self._file.reasons,
                *((file_problems.first(left_out),) if left_out else ()))

    def _put(self, content: reading.Content[Any]) -> None:
        if content == self.content:
            return
        self.content = content
        LOG.info('%s has %s', self._kind.path(self._conf), wording.count(
            len(content.rows) // self._kind.rows_each, self._kind.called))
        for flaw in content.flaws:
            LOG.error('%s', flaw)


def of_drivers(conf: cfg.ConfigOpts, drivers: Iterable[base.Driver]
               ) -> dict[tuple[str, str], RowsFile]:
    """The files with rows of subjects that some drivers ask about.

    :raises file_problems.BadFile: when one cannot be used
    """
    asked = {subject for driver in drivers for subject in driver.SUBJECTS}
    return {kind.table: RowsFile(conf, kind) for kind in _KINDS
            if kind.subject in asked}


def warnings(conf: cfg.ConfigOpts) -> list[str]:
    """What looks unintended or costs an entry, without :func:`problems`."""
    return [flaw for kind in _KINDS for flaw in kind.load(conf).flaws]


def problems(conf: cfg.ConfigOpts) -> list[str]:
    """Why files cannot be used at all."""
    found: list[str] = []
    for kind in _KINDS:
        try:
            kind.load(conf)
        except file_problems.BadFile as error:
            found.extend(error.messages)
    return found
