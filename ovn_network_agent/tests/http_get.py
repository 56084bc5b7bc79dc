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
