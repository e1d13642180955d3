#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Trains on this machine with every core that this shell may use: jobs/local.sh [--np N] [trainer arguments]
# One rank per physical core; fewer ranks get more threads each. TRAINER names another binary.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=env/common.sh
source "$root/env/common.sh"

trainer=${TRAINER:-$root/build/release/trainer}
if [[ ${1:-} == --np ]]; then
  ranks=${2:?"--np needs a number"}
  shift 2
else
  # Hyperthreads share a core's arithmetic: they are not counted.
  ranks=$(lscpu -p=core,socket 2>/dev/null | grep -v '^#' | sort -u | wc -l || true)
  allowed=$(nproc)
  if ((ranks < 1 || ranks > allowed)); then
    ranks=$allowed
  fi
fi
[[ -x $trainer ]] || die "no trainer at $trainer. Build it (README.md), or set TRAINER"
# shellcheck disable=SC2046 # flags are words
exec mpirun $(mpirun_flags) -np "$ranks" "$trainer" "$@"
