# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""All options by section; imports only oslo.config and ``conf.types``."""
