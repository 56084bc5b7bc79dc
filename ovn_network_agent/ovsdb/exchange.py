# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""One request and its answer, with a time limit."""

import errno
import time

from ovs import poller


def send(rpc, request, deadline):
    """Send a request and wait for its answer.

    :param rpc: Connection of ovs.jsonrpc
    :param request: Message of ovs.jsonrpc
    :param deadline: monotonic seconds
    :returns: (0, the answer), or (errno, None)
    """
    error = rpc.send(request)
    reply = None
    while not error and (reply is None or reply.id != request.id):
        error, reply = _receive(rpc, deadline)
    return error, reply


def _receive(rpc, deadline):
    """(errno, None) or (0, message)."""
    while True:
        rpc.run()
        error, message = rpc.recv()
        if error != errno.EAGAIN:
            return error, message
        if time.monotonic() >= deadline:
            return errno.ETIMEDOUT, None
        waiting = poller.Poller()
        rpc.wait(waiting)
        rpc.recv_wait(waiting)
        waiting.timer_wait(milliseconds(deadline))
        waiting.block()


def milliseconds(deadline):
    """Milliseconds until a deadline in monotonic seconds, at least 1."""
    return max(1, int((deadline - time.monotonic()) * 1000))
