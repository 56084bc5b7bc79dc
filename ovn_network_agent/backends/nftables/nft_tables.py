# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The privileged side of nftables, as the backend calls it.

What fails is a :class:`base.BackendError` with a text for the operator.
"""

from collections.abc import Callable
from collections.abc import Collection
import contextlib
from typing import Any
from typing import TypeAlias

from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent.backends import base
from ovn_network_agent.common import error_words
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import listing
from ovn_network_agent.nft import names
from ovn_network_agent.nft import values
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.nft import nft

LOG = logging.getLogger(__name__)


#: With a function that takes the process id of nft
OwnChange: TypeAlias = contextlib.AbstractContextManager[
    Callable[[int], object]]


class Tables:
    """Our tables in the kernel.

    :param own_change: returns a context around a change, with a function that
        takes the process id of nft, so that a watch knows whose change it was
    """

    def __init__(self, conf: Any, own_change: Callable[[], OwnChange]
                 ) -> None:
        self._conf = conf
        self._own_change = own_change

    def all(self) -> dict[str, listing.Listed]:
        """Our tables that are there, by family."""
        return {family: _parsed(printed) for family, printed in
                _reading(nft.read_tables, list(elements.FAMILIES)).items()}

    def table(self, family: str) -> listing.Listed | None:
        """Our table of one family, None when it is not there.

        :raises base.BackendError: when it cannot be read
        """
        found = _reading(nft.read_tables, [family])
        return _parsed(found[family]) if found else None

    def sets(self, family: str, wanted: set[str]) -> listing.Listed:
        """Those of some sets of our table that are there, and nothing else."""
        if ownership.NFT_NETWORKS in wanted:
            wanted = {*wanted, ownership.NFT_PREFIXES}
        return _parsed(*_reading(
            nft.read_sets, family, [name for name in sorted(wanted)
                                    if names.is_name(name)]).values())

    def change(self, function: Callable[..., Any], *args: Any) -> None:
        """Call an entry point that changes the table."""
        try:
            with self._own_change() as ours:
                ours(function(*args))
        except context.FAILURES as error:
            raise base.BackendError(error_words.text(error)) from error

    def forget(self, family: str, targets: Collection[values.Target]) -> None:
        """Delete the connections that were translated to these."""
        if not targets:
            return
        try:
            count = nft.delete_connections(
                family, self._conf.port_forward.port_forward_ct_zone,
                [list(target) for target in sorted(targets)])
        except context.FAILURES as error:
            raise base.BackendError(
                f'connections to destinations that were removed stay in '
                f'connection tracking: {error_words.text(error)}') from error
        LOG.info('%d connections to %d removed destinations were '
                 'deleted', count, len(targets))


def _reading(function: Callable[..., Any], *args: Any) -> Any:
    """Call an entry point that lists."""
    try:
        return function(*args)
    except context.FAILURES as error:
        raise base.BackendError(
            f'the table {ownership.NFT_TABLE} cannot be read: '
            f'{error_words.text(error)}'
        ) from error


def _parsed(*printed: str) -> listing.Listed:
    try:
        return listing.parse(*printed)
    except listing.Unreadable as error:
        raise base.BackendError(error_words.text(error)) from error
