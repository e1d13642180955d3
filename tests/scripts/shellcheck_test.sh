#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every script of the repository passes shellcheck. Exit code 77: shellcheck is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if ! command -v shellcheck >/dev/null; then
  echo "skipped: no shellcheck"
  exit 77
fi
mapfile -t scripts < <(find . \( -name .git -o -path ./build -o -path ./runs -o -path ./shared \) -prune -o -type f \
  \( -name '*.sh' -o -name '*.sbatch' -o -path ./.ci/run \) -print | sort)
((${#scripts[@]} >= 10)) || { echo "found only ${#scripts[@]} scripts: wrong folder?"; exit 1; }
shellcheck --external-sources "${scripts[@]}"
for script in "${scripts[@]}"; do
  bash -n "$script"
done
echo "${#scripts[@]} scripts are clean"
