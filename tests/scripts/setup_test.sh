#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# env/setup.sh on a machine that is ready, and on one that lacks MPI and cannot install it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=env/common.sh
source "$root/env/common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
export TMPDIR=$work/tmp
setup=$root/env/setup.sh

fail() {
  echo "FAILED: $*"
  exit 1
}

# 1. Ready: --check says so and writes nothing.
LOCKSTEP_TORCH=$("$setup" --print-torch)
export LOCKSTEP_TORCH LOCKSTEP_CACHE=$work/cache
"$setup" --check >"$work/check.txt" || { cat "$work/check.txt"; fail "--check says that something is missing"; }
[[ ! -e $work/cache ]] || fail "--check wrote into the cache"

# 2. The second run does nothing. (Under 2 s on a quiet machine; here others may be running.)
"$setup" >"$work/first.txt" || { cat "$work/first.txt"; fail "set-up failed"; }
start=$(now_ms)
"$setup" >"$work/second.txt"
elapsed=$(($(now_ms) - start))
grep -q 'all there since an earlier run' "$work/second.txt" || fail "the second run probed again: $(cat "$work/second.txt")"
((elapsed < 10000)) || fail "the second run took $elapsed ms"

[[ -z $(ls -A "$TMPDIR") ]] || fail "temporary files stay behind: $(ls "$TMPDIR")"

# 3. What a stamp stood on has gone: it is noticed. (The first line says so; the rest is not awaited.)
echo "$work/gone" >>"$work/cache/setup-cpu.stamp"
first_line=$("$setup" 2>/dev/null | sed 1q || true)
[[ $first_line == *'what this machine can do'* ]] || fail "a stale stamp was believed: $first_line"

# 4. No MPI, no apt: it stops, names MPI with what to install, and leaves nothing.
mkdir "$work/bin"
for folder in /usr/bin /bin; do
  find "$folder" -maxdepth 1 \( -type f -o -type l \) ! -name 'mpi*' ! -name 'apt*' ! -name 'sudo' ! -name 'ortec*' \
    ! -name 'opal_*' ! -name 'ompi*' ! -name 'orterun' -exec ln -sf -t "$work/bin" {} +
done
code=0
PATH=$work/bin LOCKSTEP_CACHE=$work/other env -u MPI_HOME "$setup" >"$work/without.txt" 2>&1 || code=$?
((code != 0)) || fail "set-up without MPI ended with 0"
grep -q 'error: .*mpi' "$work/without.txt" || { cat "$work/without.txt"; fail "MPI is not named"; }
grep -q 'libopenmpi-dev openmpi-bin' "$work/without.txt" || fail "the packages are not named"
[[ -z $(find "$work/other" -type f ! -name setup.lock 2>/dev/null) ]] || fail "something was written: $(ls -R "$work/other")"

# 5. Wrong use.
code=0
"$setup" --no-such 2>"$work/usage.txt" || code=$?
if ((code == 0)) || ! grep -q -- --no-such "$work/usage.txt"; then
  fail "an unknown argument is not refused by name"
fi
echo "env/setup.sh: second run $elapsed ms"
