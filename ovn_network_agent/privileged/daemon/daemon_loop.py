# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A privileged daemon that gives memory back after large calls.

With 10,000 floating IPs, a call takes up to 15 MB, to which the library's loop
(which a helper's daemon has) refers until the next one.  That also imports a
call's module before it looks for the entry point, and some modules of Python
run programs, or test suites; this one imports only from behind the wall.
"""

from collections.abc import Callable
from collections.abc import Iterator
import concurrent.futures.thread
import types
import typing

from oslo_privsep import comm
from oslo_privsep import daemon

from ovn_network_agent.privileged.daemon import memory_trim

# the name of nothing behind the wall
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
    """The library's source of requests, for names with ``prefix`` alone."""

    def __init__(self, channel: comm.ServerChannel, prefix: str) -> None:
        self.send = channel.send
        self._channel = channel
        self._prefix = prefix

    def __iter__(self) -> Iterator[tuple[typing.Any, list[typing.Any]]]:
        """The number and the parts of each request, cleared when the loop,
        which has started the call, asks for the next one.
        """
        for number, message in self._channel:
            parts = self._checked(*message)
            del message
            yield number, parts
            parts.clear()

    def _checked(self, kind: typing.Any, *values: typing.Any
                 ) -> list[typing.Any]:
        """The library answers the name in a refused call with an exception."""
        name = values[0] if values else None
        if kind == comm.Message.CALL and not str(name).startswith(
                self._prefix):
            return [kind, self._prefix + _NO_ENTRY_POINT, (), {}]
        return [kind, *values]


# imported here: after the fork, each daemon would have 1 MB for it
class _Threads(concurrent.futures.thread.ThreadPoolExecutor):
    """The threads that make the calls; the loop does not get the results,
    because it refers to the last one until the next call.
    """

    # called after each answer
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
