#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

# Part of tools/test: the tests on the Python packages of each OpenStack
# release in tools/constraints, and on the lowest that requirements.txt allows.
# Each set has a virtual environment of its own in build/constraints.

SETS=(lowest 2025.2 2026.1 master)
# Real agents: with real databases and, of FRR, real daemons.
STARTS='functional.cmd.test_program'
STARTS+='|functional.cmd.test_running.ProgramTest.test_appctl'
STARTS+='|functional.cmd.test_running.ProgramTest.test_a_drain_outlives_the_agent'
STARTS+='|functional.service.test_frr.TestAgent.test_a_filter_restarts_and_the_stop'

# run_constraints: the sets that REGEX selects, each a line of the summary.
run_constraints() {
    local set found=
    for set in "${SETS[@]}"; do
        [[ $set =~ ^(${REGEX:-.*})$ ]] || continue
        found=1
        constrained "$set"
    done
    if [ -z "$found" ]; then
        warn "There is no set of constraints '$REGEX'; there are ${SETS[*]}."
        record constraints 0 1 0 0
    fi
}

# run_lowest: only the set of lowest versions.
run_lowest() { constrained lowest; }

constrained() {
    local start=$SECONDS
    say "Python packages: $1"
    if ! in_set "$1" install_set; then
        record "$1" 0 1 0 $((SECONDS - start))
        return
    fi
    in_set "$1" test_set "$1"
}

# in_set SET COMMAND...: with the virtual environment of a set.
in_set() {
    local set=$1 REGEX=
    local VENV=$ROOT/build/constraints/$set
    local PY=$VENV/bin/python CONSTRAINTS=$ROOT/tools/constraints/$set.txt
    # Their pbr (up to 7.0) builds with pkg_resources, which setuptools 82 has
    # no more.
    local SETUPTOOLS='setuptools>=77,<82'
    local REQUIREMENTS=(requirements.txt test-requirements.txt)
    [ "$set" != lowest ] || CONSTRAINTS=$VENV.txt
    shift
    "$@"
}

install_set() {
    mkdir -p "$ROOT/build/constraints"
    if [ "$CONSTRAINTS" = "$VENV.txt" ]; then
        "${PYTHON:-python3}" tools/lowest.py requirements.txt \
            tools/constraints/2025.2.txt >"$CONSTRAINTS" || return
    fi
    _venv "${PYTHON:-python3}"
}

test_set() {
    # The tier unit plays all examples; other packages need only some.
    RANDOM_BUDGET=${RANDOM_BUDGET:-0.2} run_python_tier unit "unit-$1"
    run_python_tier functional "functional-$1" "$STARTS"
}
