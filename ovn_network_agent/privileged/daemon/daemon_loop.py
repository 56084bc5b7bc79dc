# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A privileged daemon that gives memory back after large calls.

With 10,000 floating IPs, the arguments and the result of one call take up to
15 MB, which the daemon rarely needs again.  The library's loop refers to the
last call until the next one comes; this loop does not.

The library imports the module of a call before it looks for the entry point.
Some modules of Python run programs, or whole test suites, when they are
imported.  So this daemon imports only modules behind the wall.

A daemon that sudo or a configured command has started has the library's loop.
"""

# The library imports this module at its first use, which is after the fork:
# each daemon would have 1 MB of its own for it.
import concurrent.futures.thread  # noqa: F401
import errno
import typing

from oslo_privsep import comm
from oslo_privsep import daemon

from ovn_network_agent.privileged.daemon import memory_trim

# The name of nothing behind the wall.
_NO_ENTRY_POINT = 'no_entry_point'


class Daemon(daemon.Daemon):
    """The daemon of one context; takes the arguments of the library's."""

    def __init__(self, channel: comm.ServerChannel, context: typing.Any
                 ) -> None:
        super().__init__(channel, context)
        self._keeper = memory_trim.Keeper(memory_trim.release)

    def loop(self) -> None:
        """Serve the calls of the agent until the channel ends."""
        self.context.set_client_mode(False)
        self._keeper.start()
        for request in self.channel:
            error = self.communication_error
            if error is not None:
                if getattr(error, 'errno', None) == errno.EPIPE:
                    return
                raise error
            self._begin(*request)
            del request

    def _begin(self, number: int, message: tuple[typing.Any, ...]) -> None:
        """Have a thread make a call and send the answer."""
        future = self.thread_pool.submit(
            self._process_cmd, number, *self._checked(*message))
        future.add_done_callback(self._create_done_callback(number))
        future.add_done_callback(lambda _done: self._keeper.look())

    def _checked(self, kind: typing.Any, *values: typing.Any
                 ) -> tuple[typing.Any, ...]:
        """A message, with a name that does not exist for one that is refused.

        The library answers a call of such a name with an exception.
        """
        prefix = f'{self.context.prefix}.'
        name = values[0] if values else None
        if kind == comm.Message.CALL and not str(name).startswith(prefix):
            return kind, prefix + _NO_ENTRY_POINT, (), {}
        return kind, *values
