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

"""What has not come yet at a start, although nothing has failed so far.

The loop makes its first pass before the databases are loaded.  A warning about
this normal wait would frighten operators.  Once an attempt has failed, the
wait is a failure like any other.
"""


class NotYet(Exception):
    """The first load of a database is under way; the text says so."""


class Reason(str):
    """The reason for a normal wait: it is logged, and is no warning."""


def reason(error, text=None):
    """The text of an error, as a :class:`Reason` if its cause is a wait.

    :param error: exception that was raised from another one
    :param text: text that has that of the error, None for that of the error
    :returns: str
    """
    kind = Reason if isinstance(error.__cause__, NotYet) else str
    return kind(error if text is None else text)
