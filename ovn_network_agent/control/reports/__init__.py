# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The answers of the control socket; nothing of ``control.socket`` here."""
