#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

# kolla_start sources this file, as the user of the agent, before the command.
# The directory is in a volume that all containers share.  kolla's
# "directories" of config.json make it since 2026; this line does before.

mkdir -p /var/log/kolla/ovn-network-agent
