# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""OVN network agent: floating IPs reachable through BGP."""

import warnings

# Libraries that we need still import it; we never use it, and the operator
# can do nothing about it.
warnings.filterwarnings('ignore', message=r'\s*Eventlet is deprecated')
