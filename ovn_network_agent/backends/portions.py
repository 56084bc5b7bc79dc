# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

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
