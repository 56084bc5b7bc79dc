# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The meaning of OVN's rows, as frozen values of the model."""
