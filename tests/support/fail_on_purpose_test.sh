#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs programs that fail on one rank and looks at what is reported. Arguments: the launcher for 3 ranks and the program.
set -euo pipefail
export LOCKSTEP_TEST_LIMIT_S=9
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# expect_failure TAG "code" TEXT...: the program fails with that code (or any but 0 and 124 where empty), in time, and prints the texts.
expect_failure() {
  local tag=$1 wanted=$2 code=0
  shift 2
  timeout -k 5 30 "${command[@]}" "$tag" </dev/null >"$log" 2>&1 || code=$?
  if ((code == 0 || code == 124)) || [[ -n $wanted && $code != "$wanted" ]]; then
    echo "$tag: exit code $code, wanted ${wanted:-a failure in time}"
    cat "$log"
    exit 1
  fi
  local text
  for text in "$@"; do
    if ! grep -qF -- "$text" "$log"; then
      echo "$tag: '$text' is not in the report:"
      cat "$log"
      exit 1
    fi
  done
  echo "$tag: reported, code $code"
}

command=("$@")
expect_failure '[check]' 1 '[rank 1]' 'rank() + 40 != 41' '41 != 41' 'failures on ranks: 1'
expect_failure '[throw]' 75 '[rank 2]' 'thrown on purpose' "'rank 2 throws between two collectives' failed here"
expect_failure '[stuck]' 75 "[watchdog] rank 1 of 3" "'rank 1 never comes back'"
expect_failure '--no-such-option' 1 'no-such-option'

timeout -k 5 30 "${command[@]}" '[well]' </dev/null >"$log" 2>&1 || { cat "$log"; exit 1; }
timeout -k 5 30 "${command[@]}" --list-tests </dev/null >"$log" 2>&1 || { cat "$log"; exit 1; }
if [[ $(grep -c 'all is well' "$log") != 1 ]]; then
  echo "--list-tests: once, please"
  cat "$log"
  exit 1
fi
