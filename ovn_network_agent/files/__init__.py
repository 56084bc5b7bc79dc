# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""YAML files of an operator: reading, shape, flaws, watch."""
