# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend advertised: the proof that a router is announced, in OVN NB.

The proof is a key on the router's managed default route, with the host name of
this chassis, which the former owner waits for. So it is written only when all
addresses of the router are known to be announced, and while the route has the
mark of this chassis. It stays: it says that the port was taken over, and
nothing of the time since then.
"""

from collections.abc import Collection
from collections.abc import Mapping
import time
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.common import notices
from ovn_network_agent.common import wording
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.watches.frr import frr_verification

# Seconds until a missing announcement is a failure, and between two checks.
# With FRR 8.4, bgpd advertised a route after 0.06 to 0.23 s (20 measurements
# on a busy machine).
TIMEOUT = 3.0
_PAUSE = 0.1


class AdvertisedBackend(ovsdb_writer.NbWriter):
    """Proofs on default routes that this chassis announces the router."""

    name = 'advertised'
    kinds = (resources.Advertised,)
    doubted_by = (notices.STATIC_ROUTES, notices.IDENTITY)
    revived_by = (notices.connected('nb'), notices.BGP_CHANGED)
    reads_only_rows = True

    def __init__(self, conf: Any, timeout: float = TIMEOUT) -> None:
        super().__init__(conf)
        self._timeout = timeout
        # Not announced at the last attempt, which has waited for them.
        self._late = frozenset[resources.Ref]()

    def read(self, known: base.Known) -> list[resources.Advertised]:
        """Read the proofs of this chassis, none without its host name.

        :raises base.BackendError: when the replica of NB is not usable
        """
        with self.tables() as nb:
            return [resources.Advertised(router, route.owner)
                    for router, _row, route in commands.managed(
                        nb, self._context.marks())
                    if route.advertised == route.owner.hostname]

    def taken_over(self, lost: list[resources.Ref]) -> set[resources.Ref]:
        """See :meth:`base.Backend.taken_over`."""
        ours = self._context.marks() | {ownership.Owner()}
        try:
            with self._context.databases['nb'].rows() as nb:
                foreign = {
                    router for router, _row, route in commands.managed(nb)
                    if route.owner not in ours}
        except connection.Unavailable:
            # Only the count of the drift is at stake.
            return set()
        return {ref for ref in lost if ref.key[0] in foreign}

    def command(self, verb: str, resource: resources.Advertised
                ) -> ovsdb_writer.Make:
        """The command that writes a proof; only 'set' occurs."""
        # A proof is retained, so there is nothing to remove.
        return lambda api: commands.SetAdvertised(api, resource)

    # -- on a thread of its own -------------------------------------------

    def apply(self, delta: base.Delta) -> base.Failures:
        """Write each proof once all prefixes of its router are announced.

        Waits up to ``timeout`` seconds, but not for resources that an earlier
        call has waited for in vain.

        :returns: refused proofs, and those with a prefix not announced yet
        :raises base.BackendError: when FRR cannot be asked, or NB does not
            answer
        """
        waiting = {r.ref: r for r in resources.of_kind(
            resources.Advertised, delta.wanted)}
        missing = {ref: set(r.prefixes) for ref, r in waiting.items()}
        deadline = time.monotonic() + self._timeout
        failures = {}
        while waiting:
            self._look(missing)
            proved = [ref for ref in waiting if not missing[ref]]
            if proved:
                # A chassis waits, so each proof is written at once.
                failures.update(super().apply(base.Delta(create=tuple(
                    waiting.pop(ref) for ref in proved))))
            if (waiting.keys() <= self._late or
                    time.monotonic() >= deadline):
                break
            time.sleep(_PAUSE)
        self._late = frozenset(waiting)
        return failures | {ref: self._reason(missing[ref])
                           for ref in waiting}

    def _look(self, missing: Mapping[resources.Ref, set[str]]) -> None:
        """Remove the announced prefixes from the missing ones.

        :raises BackendError: when FRR cannot be asked
        """
        wanted = set().union(*missing.values())
        if not wanted:
            return
        try:
            found = frr_verification.announced(self.conf, wanted)
        except context.FAILURES as error:
            raise base.BackendError(
                'it is unknown whether the addresses are announced: '
                f'{wording.error(error)}; without FRR, '
                'set [frr] bgp_check to false'
                if self.conf.frr.bgp_check and not (
                    frr_verification.tools(self.conf))
                else 'it is unknown whether the addresses are announced'
                     f': {wording.error(error)}') from error
        for prefixes in missing.values():
            prefixes -= found

    def _reason(self, prefixes: Collection[str]) -> str:
        first, *rest = sorted(prefixes)
        more = f' and {len(rest)} more' if rest else ''
        return f'{frr_verification.witness(self.conf)} {first}{more} yet'
