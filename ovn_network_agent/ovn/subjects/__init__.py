# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From rows to the model, pure; imports ``ovn.queries`` and ``model``."""
