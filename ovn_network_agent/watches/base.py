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

"""Those who look whether what was made has the effect it is for.

An observer runs on a thread of its own, so that a daemon that hangs delays
no pass.  It changes no resource: it wakes the loop, puts backends in doubt,
and says what is not as it should be.
"""

import abc


class Observer(abc.ABC):
    """One who looks.

    :ivar reasons: tuple of str: what is not as it should be, for the status
        of the agent; replaced as a whole, so that any thread may read it
    :ivar unfit: whether this node could not announce a gateway, as far as
        this one knows
    """

    reasons = ()
    unfit = False

    @abc.abstractmethod
    def start(self, trigger):
        """Start the thread.

        :param trigger: :class:`trigger.Trigger` to fire
        """

    def look_once(self):  # noqa: B027
        """Find out what a pass would need to know, for a dry run.

        On the thread that calls it, which waits for the answer.
        """

    def seen(self, snapshot):  # noqa: B027
        """Take note of a view; on the loop thread, so do it quickly.

        :param snapshot: :class:`model.Snapshot`
        """

    def after_pass(self, outcome, tracker, full):  # noqa: B027
        """Take note of a pass; on the loop thread, so do it quickly.

        :param outcome: :class:`outcome.Outcome`
        :param tracker: :class:`tracking.Tracker`, to be used here and now only
        :param full: whether everything was read and compared
        """

    @abc.abstractmethod
    def stop(self):
        """Have the thread end, without waiting for it; may come twice."""
