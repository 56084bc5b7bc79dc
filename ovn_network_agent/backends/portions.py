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

"""What a reading has found, by portions that a later reading may repeat."""


class Memory:
    """The resources of the last reading.

    A key says all about the objects of its portion, as a digest does.  So
    what is remembered cannot differ from the system: it is looked up only by
    a key that the system has now.
    """

    def __init__(self):
        self._found = []
        self._places = {}

    @property
    def keys(self):
        """The keys of all portions, a set."""
        return self._places.keys()

    def take(self, portions):
        """Replace what is remembered.

        :param portions: iterable of (key, list of resources, or None for
            those that the memory has)
        :returns: list of the resources of all portions; the engine puts the
            objects that it has in place of equal ones, and the memory has
            the same list
        """
        found, places = [], {}
        for key, some in portions:
            start = len(found)
            found += self._found[self._places[key]] if some is None else some
            places[key] = slice(start, len(found))
        self._found, self._places = found, places
        return found
