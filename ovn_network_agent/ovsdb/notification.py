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

"""The thread that runs the events of changed rows."""

import threading

from ovsdbapp.backend.ovs_idl import event as ovsdb_event
from ovsdbapp.backend.ovs_idl import idlutils


class Handler(ovsdb_event.RowEventHandler):
    """Event handler whose thread can be stopped and waited for."""

    def notify(self, event, row, updates=None):
        """Have the thread run the events that match a row.

        The row is copied only for an event that looks at the row.  The copy
        converts all columns, and a router may have thousands of NAT rows.  An
        event that runs without a row has ``blind = True``.

        :param event: 'create', 'update' or 'delete'
        :param row: ovs.db.idl.Row
        :param updates: ovs.db.idl.Row with the former values, or None
        """
        copy = None
        for match in self.matching_events(event, row, updates):
            if getattr(match, 'blind', False):
                self.notifications.put((match, event, None, None))
                continue
            if copy is None:
                copy = idlutils.frozen_row(row)
            self.notifications.put((match, event, copy, updates))

    def stop(self, timeout=5):
        """End the notify thread.

        :param timeout: seconds
        """
        self.shutdown()
        if threading.current_thread() is not self.notify_thread:
            self.notify_thread.join(timeout)
