# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Names that should name one chassis or router and name several."""

from oslo_log import log as logging

from ovn_network_agent import model

LOG = logging.getLogger(__name__)


class AmbiguousNames:
    """Logs when names become ambiguous, and unique again."""

    def __init__(self) -> None:
        #: other chassis with this host name, doubled names in options
        self.known: tuple[tuple[str, ...], tuple[str, ...]] = (), ()

    def log(self, node: model.Node, namesakes: tuple[str, ...],
            routers: tuple[str, ...]) -> None:
        """Log what has changed."""
        (former, doubled), self.known = self.known, (namesakes, routers)
        if namesakes != former and namesakes:
            LOG.warning(
                'OVN SB has the host name %s of this chassis %s for %s, too; '
                'Neutron cannot tell them apart; set a host name of its own '
                'on each node (external_ids:hostname of Open_vSwitch), or '
                'delete the row of a node that is gone', node.hostname,
                node.chassis, ', '.join(namesakes))
        elif namesakes != former:
            LOG.info('No other chassis in OVN SB has the host name %s any '
                     'more', node.hostname)
        if routers and routers != doubled:
            LOG.warning(
                'Several routers have the name %s, which an option of '
                '[announce] names; a tenant may have chosen it, so name the '
                'routers by their UUIDs', ', '.join(routers))
