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

"""The managed default routes in a replica of NB.  Pure."""

from ovn_network_agent.ovn import rows


def managed(nb):
    """All managed default routes, of whatever chassis.

    By reference: only default routes are replicated, and python-ovs makes
    an object of each row that a column names.

    :param nb: dict of table name to dict of UUID to row
    :returns: iterable of (UUID of the router, text; the row;
        :class:`model.NbDefaultRoute`)
    """
    found = nb['Logical_Router_Static_Route']
    for uuid, router in nb['Logical_Router'].items():
        for reference in rows.referenced(router, 'static_routes'):
            row = found.get(reference)
            route = rows.default_route(row) if row is not None else None
            if route is not None and route.managed:
                yield str(uuid), row, route
