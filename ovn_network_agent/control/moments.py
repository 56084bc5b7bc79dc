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

"""Times in the answers of the control socket."""

import datetime


def text(seconds):
    """A time for people and programs.

    :param seconds: seconds since the epoch, or None
    :returns: text such as 2026-01-31T12:00:00Z, '' for None
    """
    if seconds is None:
        return ''
    return datetime.datetime.fromtimestamp(
        seconds, datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
