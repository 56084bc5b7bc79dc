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

"""Routers of the view of real databases, for its tests."""

from ovn_network_agent.tests.functional.ovn import base


class ViewTestCase(base.OvsdbTestCase):

    def seen(self, eyes, name='r1'):
        return eyes.router(name)

    def becomes(self, eyes, wanted, what, name='r1'):
        """Wait until something holds for a router, and give it."""
        def look():
            router = eyes.router(name)
            return wanted(router) and (router or True)
        return self.eventually(look, what)
