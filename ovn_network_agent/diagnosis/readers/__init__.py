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

"""Readers: they only look, and return frozen values for the judges.

A reader asks one system for what concerns one address.  It writes nothing,
has a time limit, and raises :class:`Unread` with the reason when the system
cannot be read.
"""


class Unread(Exception):
    """A system could not be read; the text has the reason."""


def reason(error):
    """The reason in an exception, without the number of an OSError.

    :param error: exception
    :returns: text
    """
    if isinstance(error, OSError) and error.strerror:
        where = f': {error.filename}' if error.filename else ''
        return f'{error.strerror}{where}'
    return str(error)
