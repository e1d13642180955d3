#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every C++ file is formatted as .clang-format says. Exit code 77: no clang-format 14 (others format differently).
# To repair: clang-format -i FILE
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for tool in clang-format-14 clang-format; do
  if command -v "$tool" >/dev/null && "$tool" --version | grep -q 'version 14\.'; then
    mapfile -t files < <(find src tests -name '*.cpp' -o -name '*.hpp' | sort)
    ((${#files[@]} > 0)) || { echo "found no C++ files: wrong folder?"; exit 1; }
    "$tool" --dry-run -Werror "${files[@]}"
    echo "${#files[@]} files are formatted"
    exit
  fi
done
echo "skipped: no clang-format 14"
exit 77
