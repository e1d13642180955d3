#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sets up, builds and runs every test. --long adds the long proofs; other arguments go to ctest (e.g. -R sampler).
# Exit code 0: all passed. With LOCKSTEP_NO_SKIP=1 a skipped test fails the run, unless it carries the label gpu.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=env/common.sh
source "$root/env/common.sh"

ctest_args=() labels=(-LE long)
for argument in "$@"; do
  case $argument in
    --long)
      export LOCKSTEP_LONG=1
      labels=()
      ;;
    -h | --help)
      echo "usage: tests/run.sh [--long] [ctest arguments]"
      exit 0
      ;;
    *) ctest_args+=("$argument") ;;
  esac
done
build=$root/build/release

start=$(now_ms)
bash "$root/env/setup.sh"
setup_time=$(since "$start")

start=$(now_ms)
build_release "$root"
build_time=$(since "$start")

# Before the run: this call replaces ctest's own log too.
gpu_tests=$(ctest --test-dir "$build" -N -L gpu | sed -nE 's/^ *Test +#[0-9]+: //p')

log=$(mktemp)
trap 'rm -f "$log"' EXIT
start=$(now_ms)
code=0
ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(nproc)" "${labels[@]}" "${ctest_args[@]}" \
  </dev/null 2>&1 | tee "$log" || code=$?
tests_time=$(since "$start")

# ctest prints one line a test: " 3/57 Test #12: name ....   Passed    0.51 sec"
count() { grep -cE "^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*$1" "$log" || true; }
skipped_names() { sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .*\*\*\*(Skipped|Not Run \(Disabled\)).*/\1/p' "$log" | sort; }
# What a skipped test said: its last line with the word skip, from ctest's own log.
reason_of() {
  awk -v name="$1" '/^[0-9]+\/[0-9]+ Test: / { inside = ($3 == name); output = 0 }
    /^Output:$/ { output = 1 } /^<end of output>$/ { output = 0 }
    inside && output && tolower($0) ~ /skip/ { line = $0 } END { print line ? line : "it gave no reason" }' \
    "$build/Testing/Temporary/LastTest.log"
}

mapfile -t skipped < <(skipped_names)
echo
total=$(count '') passed=$(count ' Passed ')
echo "tests: $total run, $passed passed, $((total - passed - ${#skipped[@]})) failed, ${#skipped[@]} skipped"
if ((${#skipped[@]})); then
  for name in "${skipped[@]}"; do
    echo "  skipped: $name: $(reason_of "$name")"
    if [[ ${LOCKSTEP_NO_SKIP:-0} == 1 ]] && ! grep -qxF "$name" <<<"$gpu_tests"; then
      echo "  that is a failure here: LOCKSTEP_NO_SKIP=1 says that this machine can run it"
      ((code)) || code=1
    fi
  done
fi
echo "time: set-up $setup_time, build $build_time, tests $tests_time"
exit "$code"
