# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Shared by the scripts of env/, jobs/ and tests/. Sourced; prints nothing; sets what every mpirun of ours needs.

export NO_COLOR=1

# Open MPI refuses root unless both are set. Containers and CI are root; nobody else gets them.
if [[ $(id -u) == 0 ]]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# What is fetched or made once per user. A bare ~ also works where HOME is unset.
home=~
# shellcheck disable=SC2034 # for those who source this
lockstep_cache=${LOCKSTEP_CACHE:-${XDG_CACHE_HOME:-${HOME:-$home}/.cache}/lockstep}
unset home

die() {
  echo "error: $*" >&2
  exit 1
}

now_ms() { date +%s%3N; }

# "12.3 s" since the instant START_MS of now_ms
since() {
  local ms=$(($(now_ms) - $1))
  printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

# mpirun with more ranks than cores allowed and no binding: a rank takes its threads from its mask.
# Only Open MPI needs (and knows) these flags.
mpirun_flags() {
  if mpirun --version 2>/dev/null | grep -qE 'Open MPI|OpenRTE|PRRTE'; then
    echo "--map-by :OVERSUBSCRIBE --bind-to none"
  fi
}

# Compilers at once: one per core, and 2 GB of memory for each (a file behind the torch header needs that).
build_jobs() {
  local cores memory_gb
  cores=$(nproc)
  memory_gb=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  local jobs=$((memory_gb / 2 < cores ? memory_gb / 2 : cores))
  echo $((jobs > 0 ? jobs : 1))
}

# Configures and builds preset release; arguments are targets (none: everything).
build_release() {
  local root=$1 torch
  shift
  torch=$(bash "$root/env/setup.sh" --print-torch)
  local generator=()
  if [[ ! -e $root/build/release/CMakeCache.txt ]] && command -v ninja >/dev/null; then
    generator=(-G Ninja)
  fi
  (cd "$root" && cmake --preset release "${generator[@]}" -DLOCKSTEP_TORCH="$torch")
  cmake --build "$root/build/release" --parallel "$(build_jobs)" ${1:+--target "$@"}
}

# "sudo", nothing (root), or failure: how packages can be installed here without a question.
apt_prefix() {
  command -v apt-get >/dev/null || return 1
  if [[ $(id -u) == 0 ]]; then
    return 0
  fi
  sudo -n true 2>/dev/null && echo sudo
}

# apt_install PACKAGE...: waits for another apt, asks nothing.
apt_install() {
  local sudo
  sudo=$(apt_prefix) || return 1
  local apt=(${sudo:+"$sudo"} env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120)
  "${apt[@]}" update </dev/null || echo "apt-get update failed; trying with the package lists that are there"
  "${apt[@]}" install --no-install-recommends "$@" </dev/null
}
