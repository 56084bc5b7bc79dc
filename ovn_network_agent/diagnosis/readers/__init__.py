# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Readers of one system each, which import no judge.

They only look, and return frozen values for the judges.  A reader writes
nothing, has a time limit, and raises :class:`Unread` with the reason when the
system cannot be read, so docstrings name other errors only.
"""

from oslo_config import cfg

from ovn_network_agent import ovsdb
from ovn_network_agent.common import wording
from ovn_network_agent.ovsdb import query

# Seconds for all questions of a session to one database.
_DATABASE = 5.0


class Unread(Exception):
    """A system could not be read; the text has the reason."""


class unread:
    """Turns the errors of a system, such as 'kernel', into Unread."""

    def __init__(self, system: str = '') -> None:
        self._begin = f'{system}: ' if system else ''

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        error = raised[1]
        if isinstance(error, OSError | query.Failed):
            raise Unread(self._begin + wording.error(error)) from error


class Session(query.Session):
    """Questions to the database 'nb', 'sb' or 'ovs'; Unread when it fails."""

    def __init__(self, conf: cfg.ConfigOpts, name: str) -> None:
        with unread():
            super().__init__(
                {'nb': conf.ovn.ovn_nb_remote, 'sb': conf.ovn.ovn_sb_remote,
                 'ovs': [conf.ovs.ovsdb_connection]}[name],
                ovsdb.SCHEMAS[name], _DATABASE)

    def __exit__(self, *raised: object) -> None:
        super().__exit__()
        unread().__exit__(*raised)
