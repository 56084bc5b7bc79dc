# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

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

    def vendor_string(self) -> str:
        """The vendor of the agent."""
        return 'ovn-network-agent developers'

    def product_string(self) -> str:
        """The name of the product."""
        return PACKAGE

    def version_string_with_package(self) -> str:
        """Its version."""
        return STRING
