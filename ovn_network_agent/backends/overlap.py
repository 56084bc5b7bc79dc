# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend overlap: two owners of gateway ports for a moment.

A separate program makes the overlap and undoes it even if the agent dies; see
:mod:`ovn_network_agent.privileged.overlap_keeper`.  During the overlap, the
program keeps a key in external_ids of the local Open_vSwitch database.
"""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import error_words
from ovn_network_agent.common import notices
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.privileged import overlap
from ovn_network_agent.privileged.daemon import context


class OverlapBackend(base.Backend):
    """The pause of ovn-controller, in which two chassis own a port."""

    name = 'overlap'
    kinds = (resources.Overlap,)
    revived_by = (notices.connected('ovs'),)

    def attach(self, context: base.Context) -> None:
        """Receive the databases, of which 'ovs' is read."""
        self._context = context

    def read(self, known: base.Known) -> list[resources.Overlap]:
        """Read the overlap that the keeper has noted in the local database.

        :raises base.BackendError: when the local database is not connected
        """
        try:
            with self._context.databases['ovs'].rows() as ovs:
                marks = [row.external_ids.get(ownership.EXT_ID_OVERLAP, '')
                         for row in ovs['Open_vSwitch'].values()]
        except connection.Unavailable as e:
            raise base.BackendError(str(e)) from e
        return [resources.Overlap(tuple(mark.split()))
                for mark in marks if mark]

    def apply(self, delta: base.Delta) -> base.Failures:
        """Begin or end the overlap; an update changes nothing.

        :returns: the text of the privileged side
        """
        failures = {}
        for wanted in resources.of_kind(resources.Overlap, delta.create):
            try:
                overlap.begin(list(wanted.addresses))
            except context.FAILURES as e:
                failures[wanted.ref] = error_words.text(e)
        # An update leaves the present overlap alone: it ends soon, when the
        # ports have left.
        if delta.delete:
            try:
                overlap.end()
            except context.FAILURES as e:
                failures.update({gone.ref: error_words.text(e)
                                 for gone in delta.delete})
        return failures
