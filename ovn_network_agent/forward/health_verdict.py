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

"""From results of checks to a verdict; pure."""


class Verdict:
    """Whether a backend is alive, by one check of it.

    The first result decides at once, because until then a dead backend gets
    clients.  Later it takes several in a row, so that one lost packet does
    not move all clients to and fro.

    :param rise: so many good results in a row make a dead one alive
    :param fall: so many bad ones in a row make a living one dead
    :ivar alive: True, False, or None without any result
    :ivar row: how many results in a row led to that
    """

    def __init__(self, rise, fall):
        self._rise = rise
        self._fall = fall
        self._against = 0
        self.alive = None
        self.row = 0

    def take(self, good):
        """Take one result in.

        :param good: bool
        :returns: whether ``alive`` is another than before
        """
        if good is self.alive:
            self._against = 0
            return False
        self._against += 1
        if self.alive is not None and self._against < (
                self._rise if good else self._fall):
            return False
        self.alive, self.row, self._against = good, self._against, 0
        return True
