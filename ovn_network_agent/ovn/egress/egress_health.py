# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether the agents of chassis answer the health probe.  Pure."""

from collections.abc import Mapping
import dataclasses

from ovn_network_agent import ownership
from ovn_network_agent.ovn.chassis import groups
from ovn_network_agent.ovsdb import columns

TABLE = ('file', 'egress_unreachable')
_FORGIVEN = 1  # failures in a row that do not count, after an answer


@dataclasses.dataclass(frozen=True, slots=True)
class Unreachable:
    """A chassis whose agent does not answer, a row of :data:`TABLE`."""

    uuid: str  # the key of the row: the name of the chassis
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Health:
    """What the probes of all rounds have found, by chassis."""

    # Failures in a row; a chassis that has never answered begins at the limit.
    failures: Mapping[str, int] = dataclasses.field(default_factory=dict)
    # The rows of the table; the same mapping while nothing changes.
    unreachable: Mapping[str, Unreachable] = dataclasses.field(
        default_factory=dict)

    def after(self, found: Mapping[str, str]) -> 'Health':
        """After a round: why a chassis gave no good answer, '' for one."""
        failures = {chassis: self.failures.get(chassis, _FORGIVEN) + 1
                    if why else 0 for chassis, why in found.items()}
        rows = {chassis: Unreachable(chassis, found[chassis])
                for chassis, number in failures.items() if number > _FORGIVEN}
        return Health(failures, self.unreachable if rows == self.unreachable
                      else rows)


def targets(nb: columns.Tables, sb: columns.Tables
            ) -> dict[str, tuple[str, ...]]:
    """The addresses of tunnels, by chassis that can have egress addresses."""
    prefix = ownership.EXT_ID_EGRESS_NETWORKS
    found: dict[str, set[str]] = {
        key.removeprefix(prefix): set() for row in nb['NB_Global'].values()
        for key in row.external_ids if key.startswith(prefix)}
    for row in sb['Encap'].values():
        if row.chassis_name in found and groups.is_address(row.ip):
            found[row.chassis_name].add(row.ip)
    return {chassis: tuple(sorted(addresses))
            for chassis, addresses in sorted(found.items())}
