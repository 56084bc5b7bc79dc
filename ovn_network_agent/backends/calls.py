# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Calls of the privileged side and of the kernel, with errors for people."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import errno
from typing import Any
from typing import TypeVar

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import wording
from ovn_network_agent.privileged.daemon import context

_T = TypeVar('_T')
_Kind = TypeVar('_Kind', bound=resources.Resource)


@contextlib.contextmanager
def explained(what: str = '') -> Iterator[None]:
    """Raise base.BackendError with what failed, for a privileged call."""
    try:
        yield
    except context.FAILURES as error:
        raise base.BackendError(
            (what and f'{what}: ') + wording.error(error)) from error


def of_lists(items: Iterable[Sequence[Any]],
             **lists: Sequence[resources.Resource]) -> base.Failures:
    """The failures of an entry point: (name of its list, index, reason)."""
    return {lists[name][index].ref: reason for name, index, reason in items}


def missed(there: Mapping[resources.Ref, resources.Resource],
           adds: Iterable[_Kind], deletes: Iterable[_Kind]) -> list[_Kind]:
    """The changes that a reading after them does not show."""
    return [*(r for r in adds if there.get(r.ref) != r),
            *(r for r in deletes if r.ref in there)]


def refused(function: Callable[[list[Any]], Any],
            resources: Sequence[resources.Resource], items: list[Any],
            kept: Collection[int] = ()) -> base.Failures:
    """Call a batched entry point of the privileged side.

    :param items: argument lists, in the order of the resources
    :param kept: errnos of an object that stays on purpose
    :raises base.BackendError: when the daemon cannot be reached
    """
    if not items:
        return {}
    with explained(f'{function.__name__} in the privileged daemon'):
        failures = function(items)
    return {resources[index].ref: base.Kept(text) if number in kept else
            f'{text} ({errno.errorcode.get(number, number)})'
            for index, number, text in failures}


def reading(what: str, function: Callable[..., _T], *args: Any) -> _T:
    """Call a reader of :mod:`ovn_network_agent.netlink`.

    :param what: noun for the message, such as 'addresses'
    :raises base.BackendError: when the kernel does not answer
    """
    try:
        return function(*args)
    except (OSError, ValueError) as error:
        raise base.BackendError(
            f'{what} cannot be read from the kernel: '
            f'{wording.error(error)}') from error
