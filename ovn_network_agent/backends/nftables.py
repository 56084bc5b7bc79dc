# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend nftables: our table of each family, and the elements of its sets.

It is loaded as a whole with its elements, and recognised by what it says about
itself (:mod:`nft.listing`). Elements of a table that stays change in one
transaction (:mod:`backends.nft_tables`).
"""

from collections.abc import Iterator
import shutil
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import nft_tables
from ovn_network_agent.common import notices
from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import rules
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import listing

LOG = logging.getLogger(__name__)


class NftablesBackend(nft_tables.TablesBackend, base.KernelBackend):
    """One nftables table for each family, and its elements."""

    name = 'nftables'
    kinds = (resources.NftTable, resources.NftElement)
    doubted_by = (notices.NFTABLES,)

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        self._tables = nft_tables.Tables(conf, self.own_change)

    def check(self) -> list[str]:
        """Acceptance rows PRE-07 and PRE-08."""
        return _missing(self.conf)

    def read(self, known: base.Known
             ) -> list[resources.NftTable | resources.NftElement]:
        """Read the tables of the agent, and their elements.

        Wanted objects also start the watch for changes by other programs.
        Without any, an unreadable table is no error: a node that forwards no
        ports needs no nftables.

        :raises base.BackendError: when objects are known and nft does not
            answer
        """
        if known:
            self.start_watch()
        elif self._idle or shutil.which('nft') is None:
            # A node without forwards is spared the processes.
            return []
        try:
            found = self._tables.all()
        except base.BackendError as error:
            if known:
                raise
            LOG.debug('Whether a table of an earlier run is left is unknown: '
                      '%s', error)
            return []
        self._idle = not known and not found
        return [resource for family, listed in found.items()
                for resource in _resources(family, listed)]

    def apply(self, delta: base.Delta) -> base.Failures:
        """Load or delete the tables, and change elements, family by family."""
        failures = {}
        for name in elements.FAMILIES:
            work = nft_tables.work_for(delta, name)
            if work is not None:
                failures.update(
                    nft_tables.Family(name, self._tables).apply(work))
        return failures


def _resources(family: str, listed: listing.Listed
               ) -> Iterator[resources.NftTable | resources.NftElement]:
    yield resources.NftTable(family, listed.digest,
                             targets=tuple(sorted(listed.targets)))
    for name, element in listed.elements:
        yield resources.NftElement(family, name, element)


def _missing(conf: Any) -> list[str]:
    """Acceptance rows PRE-07 and PRE-08; none without port forwarding."""
    try:
        if not rules.load(conf):
            return []
    except file_problems.BadFile:
        # The check of the configuration reports the file.
        return []
    return [*_program(conf), *_device(conf)]


def _program(conf: Any) -> Iterator[str]:
    if shutil.which('nft') is None:
        yield (f'[port_forward] rules_file = '
               f'{conf.port_forward.rules_file}: the program nft is '
               f'not in PATH; install the package nftables')


def _device(conf: Any) -> Iterator[str]:
    device = conf.port_forward.port_forward_dev
    try:
        found = links.read_all()
    except OSError:
        # The backend link reports the error.
        return
    if device not in found:
        vrf = conf.frr.vrf_name
        enslave = f'ip link set {device} master {vrf}; ' if vrf else ''
        yield (f'[port_forward] port_forward_dev = {device}: there is no '
               f'such device; create it (ip link add {device} type '
               f'dummy; {enslave}ip link set {device} up) or name the '
               f'right one')
