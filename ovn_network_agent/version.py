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

"""Version of the installed package."""

import importlib.metadata

PACKAGE = 'ovn-network-agent'

try:
    STRING = importlib.metadata.version(PACKAGE)
except importlib.metadata.PackageNotFoundError:
    # Run from a checkout that was never installed.
    STRING = '0.0.0'


class Info:
    """The parts of a version that oslo.reports asks for."""

    def vendor_string(self):
        """The vendor of the agent."""
        return 'ovn-network-agent developers'

    def product_string(self):
        """The name of the product."""
        return PACKAGE

    def version_string_with_package(self):
        """Its version."""
        return STRING
