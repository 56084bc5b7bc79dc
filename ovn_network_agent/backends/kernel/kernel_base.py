# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The common parts of the backends of the kernel."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
import errno
from typing import Any
from typing import TypeVar

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import error_words
from ovn_network_agent.privileged.daemon import context


class KernelBackend(base.Backend):
    """Base of the backends of the kernel."""

    @classmethod
    def runs_without_ovn(cls, conf: Any) -> bool:
        """Port forwarding needs the kernel alone."""
        return True


_T = TypeVar('_T')


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
    try:
        failures = function(items)
    except context.FAILURES as error:
        raise base.BackendError(
            f'{function.__name__} in the privileged daemon: '
            f'{error_words.text(error)}'
        ) from error
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
            f'{error_words.text(error)}') from error
