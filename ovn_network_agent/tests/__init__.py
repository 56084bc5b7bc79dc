# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tests, in three tiers."""

import signal

# A shell starts what it puts into the background with SIGINT ignored, and so
# do nohup and some runners.  What is ignored stays ignored in all programs
# that tests start, and a test of Ctrl-C would wait in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
