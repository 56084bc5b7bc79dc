# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The result of a pass, and the text of a resource in one line."""

from collections.abc import Mapping
import dataclasses
import typing

from ovn_network_agent import resources
from ovn_network_agent.common import normal_wait
from ovn_network_agent.common import wording
from ovn_network_agent.engine import tracking


class Held(typing.NamedTuple):
    """Addresses that the withdrawal guard holds, see :mod:`engine.guard`."""

    # The addresses that stay announced.
    subjects: frozenset[str] = frozenset()
    # All announced addresses.
    announced: int = 0
    # The middle of a sentence each.
    reasons: tuple[str, ...] = ()
    # Whose loss the servers have yet to confirm.
    unconfirmed: frozenset[str] = frozenset()
    # Only the usual wait for the servers.
    usual: bool = False

    @property
    def why(self) -> str:
        """The reasons in one clause."""
        return ' and '.join(self.reasons)

    @property
    def text(self) -> str:
        """The hold, its reasons and the remedy; '' without a hold."""
        if not self.subjects:
            return ''
        kind = normal_wait.Reason if self.usual else str
        return kind(
            f'the withdrawal guard holds {len(self.subjects):d} of '
            f'{wording.count(self.announced, "announced address")}, because '
            f'{self.why}; if they are to be withdrawn: '
            'ovn-network-agent-ctl resync --force')


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one pass."""

    changes: int = 0
    # Why resources are not as desired.
    failures: Mapping[resources.Ref, str] = dataclasses.field(
        default_factory=dict)
    # By name of the backend, why.
    unreadable: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # What drivers raised.
    broken: Mapping[tracking.Contributor, str] = dataclasses.field(
        default_factory=dict)
    # Names of backends at work beside the loop, and 'announcing' while
    # resources that follow the announcements wait.
    pending: tuple[str, ...] = ()
    left_out: tuple[resources.Problem, ...] = ()
    # The verb is 'created', 'updated' or 'deleted'.
    applied: tuple[tuple[str, resources.Resource], ...] = ()
    # (part of the pass, seconds), in order.
    seconds: tuple[tuple[str, float], ...] = ()
    # (name of a backend, seconds): the readings whose result has come.
    readings: tuple[tuple[str, float], ...] = ()
    # What others removed or changed.
    lost: tuple[resources.Ref, ...] = ()
    # By backend: its readings in a row that found such objects, at least 1.
    streaks: Mapping[str, int] = dataclasses.field(default_factory=dict)
    held: Held = Held()
    # The keys whose desired or actual resource may have changed.
    touched: tuple[resources.Ref, ...] = ()
    # Whether a system still takes announcements beside the loop, which have
    # not failed and are not in place.
    announces: bool = False

    @property
    def problems(self) -> tuple[str, ...]:
        """Texts of the drivers' problems."""
        return tuple(problem.text for problem in self.left_out)

    @property
    def degraded(self) -> list[str]:
        """Reasons why the system is not as desired."""
        # A normal wait remains one.
        reasons = [normal_wait.like(why, f'{backend}: {why}')
                   for backend, why in self.unreadable.items()]
        reasons += [f'driver {driver} on {" ".join(filter(None, about))}: '
                    f'{why}' for (driver, *about), why in self.broken.items()]
        reasons += [normal_wait.like(why,
                                     f'{ref.kind} {brief(ref.key)}: {why}')
                    for ref, why in self.failures.items()]
        reasons += [self.held.text] if self.held.subjects else []
        return reasons + list(self.problems)

    @property
    def settled(self) -> bool:
        """True when everything is as desired and nothing is under way."""
        return not (self.failures or self.unreadable or self.broken or
                    self.pending)


def describe(resource: resources.Resource) -> str:
    """A resource's values as one line for the log and the plan."""
    return ' '.join(
        f'{field.name}={brief(getattr(resource, field.name))}'
        for field in dataclasses.fields(resource)
        if field.compare and getattr(resource, field.name) is not None
    ).replace(f'cookie={getattr(resource, "cookie", 0):d} ',
              f'cookie={getattr(resource, "cookie", 0):#x} ')


def brief(value: object) -> str:
    """A value, or a tuple of values, as a short text."""
    if isinstance(value, tuple):
        return ','.join(brief(v) for v in value if v is not None)
    return str(value)
