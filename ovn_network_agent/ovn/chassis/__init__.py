# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""This chassis and others; imports the rest of ``ovn``, but ``ovn.view``."""
