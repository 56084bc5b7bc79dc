# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rows in OVN NB and their commands; imports ``ovsdb`` and ``model``."""
