# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A request to a listener of HTTP."""

import contextlib
import http.client


def get(host, port, path, timeout=10):
    """The answer to a GET request: (status, text); (0, '') without one.

    :param timeout: seconds for the connection, and for each reading
    """
    with contextlib.closing(http.client.HTTPConnection(
            host, port, timeout=timeout)) as client:
        try:
            client.request('GET', path)
            answer = client.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ''
