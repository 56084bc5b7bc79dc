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

from collections.abc import Callable
from collections.abc import Iterator
import concurrent.futures.thread
import types
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
        super().__init__(typing.cast(comm.ServerChannel, _Requests(
            channel, f'{context.prefix}.')), context)
        self._keeper = memory_trim.Keeper(memory_trim.release)
        self.thread_pool = _Threads(context.conf.thread_pool_size)
        self.thread_pool.answered = self._keeper.look

    def loop(self) -> None:
        """Serve the calls of the agent until the channel ends."""
        self._keeper.start()
        super().loop()


class _Requests:
    """The channel to the agent; the library's loop takes requests from it.

    :param prefix: of the names behind the wall
    """

    def __init__(self, channel: comm.ServerChannel, prefix: str) -> None:
        self.send = channel.send
        self._channel = channel
        self._prefix = prefix

    def __iter__(self) -> Iterator[tuple[typing.Any, list[typing.Any]]]:
        """The number and the parts of each request.

        The loop, which has started a call when it asks for the next one,
        keeps an empty list of the call.
        """
        for number, message in self._channel:
            parts = self._checked(*message)
            del message
            yield number, parts
            parts.clear()

    def _checked(self, kind: typing.Any, *values: typing.Any
                 ) -> list[typing.Any]:
        """A message, with a name that does not exist for one that is refused.

        The library answers a call of such a name with an exception.
        """
        name = values[0] if values else None
        if kind == comm.Message.CALL and not str(name).startswith(
                self._prefix):
            return [kind, self._prefix + _NO_ENTRY_POINT, (), {}]
        return [kind, *values]


# Python imports this module at its first use, which would be after the fork:
# each daemon would have 1 MB of its own for it.
class _Threads(concurrent.futures.thread.ThreadPoolExecutor):
    """The threads that make the calls, without the results for the loop.

    The library's loop refers to the last call until the next one comes.
    """

    # Called after each answer.
    answered: Callable[[], object]

    def submit(  # type: ignore[override]
            self, *call: typing.Any) -> typing.Any:
        """Have a thread make a call; the loop adds a callback, once."""
        futures = [super().submit(*call)]

        def send(answer: Callable[[typing.Any], None]) -> None:
            future = futures.pop()
            future.add_done_callback(answer)
            future.add_done_callback(lambda _done: self.answered())
        return types.SimpleNamespace(add_done_callback=send)
