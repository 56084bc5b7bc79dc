# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From the model to resources: pure plugins.

:mod:`drivers.base` has the interface of drivers.
"""
