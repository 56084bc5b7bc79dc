# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The original program's options and values; imports only ``conf``."""
