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

"""Differences by the identity of objects, in the time of a copy.

An event changes one of thousands of values, and each unchanged value is the
same object as before.  A set would hash and compare all of them.
"""


def by_identity(values):
    """Values by the identity of their objects, a dict.

    The values stay alive with the dict, so no other object gets the identity
    of one of them.

    :param values: sequence of objects, each once
    """
    return dict(zip(map(id, values), values, strict=True))


class Parts:
    """Remembers the parts of a view.

    :param name: function(part) that returns its name, hashable
    """

    def __init__(self, name):
        self._name = name
        self._known = {}

    def __len__(self):
        return len(self._known)

    def forget(self):
        """Take all parts for new the next time."""
        self._known = {}

    def take(self, parts):
        """Take note of the present parts.

        :param parts: tuple of objects
        :returns: (list of the parts that are not the same objects as before,
            list of the former parts whose names have no part any more)
        """
        before, self._known = self._known, by_identity(parts)
        come = [self._known[each]
                for each in self._known.keys() - before.keys()]
        names = set(map(self._name, come))
        gone = [part for part in (
            before[each] for each in before.keys() - self._known.keys())
                if self._name(part) not in names]
        return come, gone
