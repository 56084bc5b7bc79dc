# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The control socket: questions and commands of operators."""
