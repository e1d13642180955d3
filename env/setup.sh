#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes this machine able to build and test Lockstep. Probes capabilities by using them (compiles, links, starts ranks),
# installs what is missing where apt is there, fetches LibTorch into a per-user cache. A second run does nothing.
# shellcheck disable=SC2016 # CMake code in single quotes
set -euo pipefail
env_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=env/common.sh
source "$env_dir/common.sh"

torch_version=2.15.0
# Exactly what this wheel's metadata asks for (cuda-toolkit 13.2.2 resolves to these). The CPU library loads the first two.
cpu_pins=(torch=="$torch_version" nvidia-cuda-runtime==13.2.86 nvidia-cuda-cupti==13.2.86)
cuda_pins=(
  nvidia-cublas==13.4.1.3 nvidia-cuda-nvrtc==13.2.86 nvidia-cufft==12.2.0.57 nvidia-cufile==1.17.1.22
  nvidia-cusolver==12.2.0.11 nvidia-cusparse==12.7.10.12 nvidia-nvjitlink==13.2.86 nvidia-nvtx==13.2.86
  nvidia-cudnn-cu13==9.26.0.51 nvidia-cusparselt-cu13==0.8.1 nvidia-nccl-cu13==2.30.7 nvidia-nvshmem-cu13==3.7.2
)

# capability | need | what is tried | Debian | Fedora | Spack
# need: required; tests (only checks of style need it); optional (faster with it)
capabilities="\
compiler|required|compile and run a C++20 program|g++|gcc-c++|gcc
cmake|required|cmake --version is 3.22 or newer|cmake|cmake|cmake
builder|required|ninja or make answers|ninja-build|ninja-build|ninja
mpi|required|build an MPI program, mpirun -np 2|libopenmpi-dev openmpi-bin|openmpi-devel|openmpi
hdf5|required|2 ranks write one HDF5 file together|libhdf5-openmpi-dev hdf5-tools|hdf5-openmpi-devel|hdf5+mpi
boost|required|parse an option, compute a CRC|libboost-program-options-dev libboost-dev|boost-devel|boost+program_options
spdlog|required|log a line (spdlog with fmt)|libspdlog-dev libfmt-dev|spdlog-devel fmt-devel|spdlog+fmt_external
json|required|parse a JSON text|nlohmann-json3-dev|json-devel|nlohmann-json
xxhash|required|compute an XXH3 digest|libxxhash-dev|xxhash-devel|xxhash
zlib|required|compute a checksum|zlib1g-dev|zlib-devel|zlib-ng+compat
catch2|required|build with it, version 2 or 3|catch2|catch-devel|catch2
pip|required|python3 -m pip (fetches LibTorch)|python3-pip|python3-pip|py-pip
shellcheck|tests|shellcheck --version|shellcheck|ShellCheck|shellcheck
clang_format|tests|clang-format --version|clang-format|clang-tools-extra|llvm+clang
h5dump|tests|h5dump --version|hdf5-tools|hdf5|hdf5
fashion_mnist|tests|the four files of Fashion-MNIST|dataset-fashion-mnist|-|-
ccache|optional|ccache --version|ccache|ccache|ccache
tcmalloc|optional|link and run with tcmalloc|libgoogle-perftools-dev|gperftools-devel|gperftools"

usage() {
  cat <<EOF
usage: env/setup.sh [--check | --print-torch] [--cuda] [--torch-dir DIR]

Probes this machine, installs what is missing (apt, as root or by sudo without a password), fetches LibTorch $torch_version.
  --check          only report: exit 0 if everything required is there, 1 if not; changes nothing
  --print-torch    print the LibTorch folder (it holds include/ and lib/)
  --cuda           the full set with CUDA, cuDNN and NCCL (about 5 GB) instead of the CPU set (0.6 GB)
  --torch-dir DIR  where LibTorch goes (default $lockstep_cache/libtorch-$torch_version-cpu or -cuda);
                   builds then need LOCKSTEP_TORCH=DIR/torch
Environment: LOCKSTEP_TORCH=DIR uses a LibTorch of your own (2.11 or newer), nothing is downloaded. LOCKSTEP_CACHE moves
the cache. CXX, CC, CMAKE_PREFIX_PATH, MPI_HOME, HDF5_ROOT choose the rest, as in the build.
EOF
}

# ---- probes: print "VERSION|FILE" and succeed, or say on stderr why not ------------------------------------------

probe_compiler() {
  local cxx=${CXX:-c++}
  cat >"$work/cxx20.cpp" <<'EOF'
#include <concepts>
#include <cstdio>
#include <source_location>
#include <span>
#if __cplusplus < 202002L
#error C++20 is needed
#endif
template <std::integral T> int size(std::span<const T> values) { return static_cast<int>(values.size()); }
int main() {
  const int values[] = {1, 2, 3};
  return size(std::span<const int>(values)) == 3 && std::source_location::current().line() > 0 ? 0 : 1;
}
EOF
  "$cxx" -std=c++20 "$work/cxx20.cpp" -o "$work/cxx20" >&2 && "$work/cxx20" || return 1
  echo "$("$cxx" -dumpfullversion 2>/dev/null || "$cxx" -dumpversion)|$(command -v "$cxx")"
}

probe_cmake() {
  local version
  version=$(cmake --version | sed -n '1s/[^0-9]*//p') || return 1
  if [[ $(printf '3.22\n%s\n' "$version" | sort -V | sed -n 1p) != 3.22 ]]; then
    echo "cmake $version is older than 3.22" >&2
    return 1
  fi
  echo "$version|$(command -v cmake)"
}

probe_builder() {
  if command -v ninja >/dev/null; then
    echo "ninja $(ninja --version)|$(command -v ninja)"
  else
    make --version | sed -n "1s|GNU Make \(.*\)|make \1\|$(command -v make)|p"
  fi
}

# A program that only has to answer.
probe_answers() {
  local version
  version=$("$1" --version) || return 1
  echo "$(grep -oEm1 '[0-9]+(\.[0-9]+)+' <<<"$version")|$(command -v "$1")"
}
probe_shellcheck() { probe_answers shellcheck; }
probe_clang_format() { probe_answers clang-format; }
probe_ccache() { probe_answers ccache; }
probe_h5dump() { probe_answers h5dump; }

probe_fashion_mnist() {
  local folder=/usr/share/datasets/fashion-mnist file
  for file in {train,t10k}-{images-idx3,labels-idx1}-ubyte.gz; do
    [[ -e $folder/$file ]] || { echo "no $folder/$file" >&2; return 1; }
  done
  echo "60,000 + 10,000 pictures|$folder"
}

probe_pip() {
  local version
  version=$(python3 -m pip --version) || return 1
  echo "$(cut -d' ' -f2 <<<"$version")|$(command -v python3)"
}

# build_with_cmake NAME CMAKE_LINES <PROGRAM: finds things the way the project's CMakeLists.txt does, builds $work/build/NAME.
# CMAKE_LINES set LIBS, VERSION and WHERE. Prints "VERSION|WHERE".
build_with_cmake() {
  local generator=()
  cat >"$work/$1.cpp"
  if ! [[ ${state[compiler]} == ok && ${state[cmake]} == ok && ${state[builder]} == ok ]]; then
    echo "not tried: needs a compiler, CMake and Ninja or make" >&2
    return 1
  fi
  printf '%s\n' "$2" >"$work/$1.cmake"
  cat >"$work/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.22)
project(probe C CXX)
list(PREPEND CMAKE_MODULE_PATH ${MODULES})
set(CMAKE_CXX_STANDARD 20)
set(MPI_CXX_SKIP_MPICXX ON)
include(${PROBE}.cmake)
add_executable(${PROBE} ${PROBE}.cpp)
target_compile_definitions(${PROBE} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_link_libraries(${PROBE} PRIVATE ${LIBS})
file(WRITE ${CMAKE_BINARY_DIR}/${PROBE}.txt "${VERSION}|${WHERE}")
EOF
  if command -v ninja >/dev/null; then
    generator=(-G Ninja)
  fi
  cmake --no-warn-unused-cli "${generator[@]}" -S "$work" -B "$work/build" -DPROBE="$1" -DMODULES="$env_dir/cmake" \
    -DLOCKSTEP_TORCH="$torch" >&2 && cmake --build "$work/build" --target "$1" >&2 && cat "$work/build/$1.txt"
}

# builds_and_runs NAME CMAKE_LINES <PROGRAM
builds_and_runs() {
  local found
  found=$(build_with_cmake "$@") && "$work/build/$1" >&2 && echo "$found"
}

# Starts the probe NAME as two ranks; each must see the other.
two_ranks() {
  local output
  # shellcheck disable=SC2046 # flags are words
  output=$(cd "$work" && timeout 60 mpirun $(mpirun_flags) -np 2 "$work/build/$1" </dev/null) || return 1
  if [[ $output != *"rank 0 of 2"* || $output != *"rank 1 of 2"* ]]; then
    echo "mpirun ($(command -v mpirun)) started ranks that each think they are alone: it belongs to another MPI. They said:" >&2
    echo "$output" >&2
    return 1
  fi
}

probe_mpi() {
  local found
  found=$(build_with_cmake mpi 'find_package(MPI REQUIRED COMPONENTS C)
    set(LIBS MPI::MPI_C)
    set(VERSION "MPI ${MPI_C_VERSION}")
    set(WHERE ${MPI_C_COMPILER})' <<'EOF'
#include <mpi.h>
#include <cstdio>
int main(int argc, char** argv) {
  int rank = 0, size = 0, sum = 0, provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::printf("rank %d of %d\n", rank, size);
  MPI_Finalize();
  return sum == size * (size - 1) / 2 ? 0 : 1;
}
EOF
  ) && two_ranks mpi || return 1
  echo "$(mpirun --version | sed -n '1s/^mpirun //p'), ${found%%|*}|$(command -v mpirun)"
}

probe_hdf5() {
  local found
  found=$(build_with_cmake hdf5 'find_package(MPI REQUIRED COMPONENTS C)
    find_package(ParallelHDF5 REQUIRED)
    set(LIBS lockstep::hdf5 MPI::MPI_C)
    set(VERSION ${HDF5_VERSION})
    set(WHERE ${PARALLELHDF5_INCLUDE_DIR}/H5pubconf.h)' <<'EOF'
#include <hdf5.h>
#include <mpi.h>
#include <cstdio>
#ifndef H5_HAVE_PARALLEL
#error this HDF5 is not parallel
#endif
int main(int argc, char** argv) {
  int rank = 0, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  const hid_t file = H5Fcreate("probe.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const bool good = file >= 0 && H5Fclose(file) >= 0;
  H5Pclose(access);
  std::printf("rank %d of %d\n", rank, size);
  MPI_Finalize();
  return good ? 0 : 1;
}
EOF
  ) && two_ranks hdf5 && echo "$found"
}

probe_boost() {
  builds_and_runs boost 'find_package(Boost 1.70 REQUIRED COMPONENTS program_options)
    set(LIBS Boost::program_options Boost::headers)
    set(VERSION ${Boost_VERSION_STRING})
    list(GET Boost_INCLUDE_DIRS 0 WHERE)
    string(APPEND WHERE /boost/crc.hpp)' <<'EOF'
#include <boost/crc.hpp>
#include <boost/program_options.hpp>
int main(int argc, char** argv) {
  namespace po = boost::program_options;
  po::options_description known;
  known.add_options()("n", po::value<int>()->default_value(3));
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, known), values);
  boost::crc_32_type crc;
  crc.process_bytes("123456789", 9);
  return values["n"].as<int>() == 3 && crc.checksum() == 0xCBF43926 ? 0 : 1;
}
EOF
}

probe_spdlog() {
  builds_and_runs spdlog 'find_package(spdlog REQUIRED)
    set(LIBS spdlog::spdlog)
    set(VERSION ${spdlog_VERSION})
    set(WHERE ${spdlog_DIR}/spdlogConfig.cmake)' <<<'
#include <spdlog/spdlog.h>
int main() { spdlog::info("{:03d}", 7); }'
}

probe_json() {
  builds_and_runs json 'find_package(nlohmann_json 3 REQUIRED)
    set(LIBS nlohmann_json::nlohmann_json)
    set(VERSION ${nlohmann_json_VERSION})
    set(WHERE ${nlohmann_json_DIR}/nlohmann_jsonConfig.cmake)' <<<'
#include <nlohmann/json.hpp>
int main() { return nlohmann::json::parse("[1, 2]").size() == 2 ? 0 : 1; }'
}

probe_xxhash() {
  builds_and_runs xxhash 'find_package(XxHash REQUIRED)
    set(LIBS lockstep::xxhash)
    file(STRINGS ${XXHASH_INCLUDE_DIR}/xxhash.h lines REGEX "define XXH_VERSION_(MAJOR|MINOR|RELEASE)")
    string(REGEX REPLACE "[^;]* ([0-9]+)" "\\1" lines "${lines}")
    string(REPLACE ";" "." VERSION "${lines}")
    set(WHERE ${XXHASH_LIBRARY})' <<<'
#include <xxhash.h>
int main() { return XXH3_64bits("", 0) == 0x2D06800538D394C2ULL ? 0 : 1; }'
}

probe_zlib() {
  builds_and_runs zlib 'find_package(ZLIB REQUIRED)
    set(LIBS ZLIB::ZLIB)
    set(VERSION ${ZLIB_VERSION_STRING})
    list(GET ZLIB_INCLUDE_DIRS 0 WHERE)
    string(APPEND WHERE /zlib.h)' <<<'
#include <zlib.h>
int main() { return crc32(0, reinterpret_cast<const Bytef*>("123456789"), 9) == 0xCBF43926 ? 0 : 1; }'
}

probe_catch2() {
  builds_and_runs catch2 'find_package(Catch2 REQUIRED)
    set(LIBS Catch2::Catch2)
    set(VERSION ${Catch2_VERSION})
    set(WHERE ${Catch2_DIR}/Catch2Config.cmake)' <<'EOF'
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
int main() { return Catch::Session().run(); }
#else  // version 2: its runner takes 10 s to compile, so the header alone is tried
#include <catch2/catch.hpp>
int main() { return CATCH_VERSION_MAJOR - 2; }
#endif
EOF
}

probe_tcmalloc() {
  builds_and_runs tcmalloc 'find_library(TCMALLOC NAMES tcmalloc tcmalloc_minimal REQUIRED)
    set(LIBS -Wl,--no-as-needed ${TCMALLOC})
    set(VERSION gperftools)
    set(WHERE ${TCMALLOC})' <<<'
#include <cstdlib>
int main() { std::free(std::malloc(1 << 20)); }'
}

probe_libtorch() {
  if [[ ! -e $torch/lib/libtorch_cpu.so ]]; then
    echo "no $torch/lib/libtorch_cpu.so" >&2
    return 1
  fi
  if [[ $flavour == cuda ]] && ldd "$torch/lib/libtorch_cuda.so" | grep 'not found' >&2; then
    echo "libtorch_cuda.so misses these libraries" >&2
    return 1
  fi
  builds_and_runs libtorch 'find_package(LibTorch 2.11 REQUIRED)
    set(LIBS lockstep::torch)
    set(VERSION ${LIBTORCH_VERSION})
    set(WHERE ${LIBTORCH_CPU_LIBRARY})' <<<'
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
int main() { return at::ones({2, 2}).sum().item<float>() == 4.0f ? 0 : 1; }'
}

# ---- the table ---------------------------------------------------------------------------------------------------

declare -A state=() version=() where=()

# Runs one probe, remembers and prints its row.
probe() {
  local id=$1 found start
  start=$(now_ms)
  if found=$("probe_$id" 2>"$work/$id.log"); then
    state[$id]=ok version[$id]=${found%%|*} where[$id]=${found#*|}
    printf '  %-8s %-13s %s, %s (%s)\n' ok "$id" "${version[$id]}" "${where[$id]}" "$(since "$start")"
  else
    state[$id]=missing
    printf '  %-8s %-13s (%s)\n' missing "$id" "$(since "$start")"
  fi
}

# column NUMBER of the row of a capability
column() { grep "^$1|" <<<"$capabilities" | cut -d'|' -f"$2"; }

# Capabilities that are missing and of the need given; LibTorch is not among them.
missing() {
  local id need
  while IFS='|' read -r id need _; do
    if [[ ${state[$id]:-} == missing && $need == "$1" ]]; then
      echo "$id"
    fi
  done <<<"$capabilities"
}

# packages_for NEED: Debian packages, one a line
packages_for() {
  local id
  for id in $(missing "$1"); do
    column "$id" 4 | tr ' ' '\n'
  done
}

say_how_to_get() {
  local id
  printf '\n%-13s %-40s %-44s %-30s %s\n' missing tried Debian Fedora Spack
  for id in "$@"; do
    printf '%-13s %-40s %-44s %-30s %s\n' "$id" "$(column "$id" 3)" "$(column "$id" 4)" "$(column "$id" 5)" "$(column "$id" 6)"
  done
}

say_why() {
  local id
  for id in "$@"; do
    printf '\n%s: the probe said (last lines)\n' "$id"
    tail -n 15 "$work/$id.log" | sed 's/^/    /'
  done
}

# Probes all that is not known to work. pip is needed only to fetch LibTorch.
probe_all() {
  local id
  rm -rf "$work/build"
  while IFS='|' read -r id _; do
    if [[ ${state[$id]:-} == ok || ($id == pip && -e $torch/lib/libtorch_cpu.so) ]]; then
      continue
    fi
    probe "$id"
  done <<<"$capabilities"
}

install_missing() {
  local required others log=$work/apt.log start
  mapfile -t required < <(packages_for required)
  mapfile -t others < <(packages_for tests; packages_for optional)
  if ((${#required[@]} + ${#others[@]} == 0)) || ! apt_prefix >/dev/null; then
    return 0
  fi
  start=$(now_ms)
  echo "installing with apt: ${required[*]} ${others[*]}"
  # What is only nice to have must not stop what is needed.
  if ! apt_install "${required[@]}" "${others[@]}" >"$log" 2>&1 \
    && ! { ((${#required[@]})) && apt_install "${required[@]}" >"$log" 2>&1; }; then
    echo "apt-get install failed; it said (last lines):"
    tail -n 15 "$log" | sed 's/^/    /'
  fi
  echo "  installed ($(since "$start"))"
  probe_all
}

# ---- LibTorch ----------------------------------------------------------------------------------------------------

# Downloads beside the final place and renames: an interrupted download leaves nothing that looks finished.
fetch_libtorch() {
  local pins=("${cpu_pins[@]}") start partial unpruned
  if [[ $flavour == cuda ]]; then
    pins+=("${cuda_pins[@]}")
  fi
  start=$(now_ms)
  echo "fetching LibTorch $torch_version ($flavour) into $torch_parent"
  mkdir -p "$(dirname "$torch_parent")"
  rm -rf "$torch_parent".partial.*  # left by a run that was killed; the lock says that it is gone
  partial=$torch_parent.partial.$$
  cleanup+=("$partial")
  mkdir -p "$partial/tmp"
  # The wheel is chosen for one Python whatever runs here (the C++ libraries in it are the same). --target is outside
  # what PEP 668 guards; a user's pip configuration must not add --user.
  TMPDIR=$partial/tmp PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 PIP_ROOT_USER_ACTION=ignore \
    python3 -m pip install --quiet --no-input --no-cache-dir --no-compile --no-deps --disable-pip-version-check \
    --python-version 3.12 --only-binary=:all: --target "$partial/site" "${pins[@]}" </dev/null >"$work/pip.log" 2>&1 || {
    tail -n 15 "$work/pip.log" | sed 's/^/    /' >&2
    die "pip could not fetch ${pins[*]}. Without a network: set LOCKSTEP_TORCH to a LibTorch that is here, or PIP_FIND_LINKS to a folder with these wheels"
  }
  # Python's half is of no use here; without CUDA neither are the libraries that need it (half of the size).
  unpruned=$partial/site/torch
  find "$unpruned" -mindepth 1 -maxdepth 1 ! -name include ! -name lib ! -name share ! -name version.py -exec rm -rf {} +
  rm -rf "$unpruned"/lib/libtorch_python.so "$partial"/site/{bin,functorch,torchgen}
  if [[ $flavour == cpu ]]; then
    rm -f "$unpruned"/lib/{libtorch.so,libtorch_cuda.so,libtorch_cuda_linalg.so,libtorch_nvshmem.so,libcaffe2_nvrtc.so,libc10_cuda.so}
  fi
  rm -rf "$torch_parent"
  mv -T "$partial/site" "$torch_parent"
  echo "  fetched, $(du -sh "$torch_parent" | cut -f1) ($(since "$start"))"
}

# ---- the stamp: a run that found everything, and what it found ----------------------------------------------------

# Own text, tools with their versions, and what steers the search. Cheap: about 0.2 s.
fingerprint() {
  local tool
  {
    cat "${BASH_SOURCE[0]}" "$env_dir"/common.sh "$env_dir"/cmake/Find*.cmake
    echo "$flavour $torch ${CXX:-} ${CC:-} ${CMAKE_PREFIX_PATH:-} ${MPI_HOME:-} ${HDF5_ROOT:-}"
    for tool in "${CXX:-c++}" cmake ninja make mpicc mpirun h5pcc; do
      command -v "$tool" || true
    done
    "${CXX:-c++}" --version
    cmake --version
    mpirun --version
  } 2>/dev/null | sha256sum
}

stamp_is_valid() {
  local file
  [[ -e $stamp && $(sed -n 1p "$stamp") == "$(fingerprint)" ]] || return 1
  while read -r file; do
    [[ -e $file ]] || return 1
  done < <(tail -n +2 "$stamp")
}

write_stamp() {
  local id
  {
    fingerprint
    for id in "${!where[@]}"; do
      echo "${where[$id]}"
    done
  } >"$stamp.$$"
  mv "$stamp.$$" "$stamp"
}

# ---- main --------------------------------------------------------------------------------------------------------

action=setup flavour=cpu torch_parent=
while (($#)); do
  case $1 in
    --check) action=check ;;
    --print-torch) action=print ;;
    --cuda) flavour=cuda ;;
    --torch-dir)
      [[ -n ${2:-} ]] || die "--torch-dir needs a folder"
      torch_parent=$(realpath -m "$2")
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) die "unknown argument $1; env/setup.sh --help lists what there is" ;;
  esac
  shift
done

own_torch=${LOCKSTEP_TORCH:-}
if [[ -n $own_torch ]]; then
  torch=$own_torch
else
  torch_parent=${torch_parent:-$lockstep_cache/libtorch-$torch_version-$flavour}
  torch=$torch_parent/torch
fi
if [[ $action == print ]]; then
  echo "$torch"
  exit 0
fi

began=$(now_ms)
stamp=$lockstep_cache/setup-$flavour.stamp
if [[ $action == setup ]] && stamp_is_valid; then
  echo "set-up: all there since an earlier run, LibTorch in $torch ($(since "$began"))"
  exit 0
fi

work=$(mktemp -d)
cleanup=("$work")
trap 'rm -rf "${cleanup[@]}"' EXIT
trap 'exit 130' INT TERM

if [[ $action == check ]]; then
  probe_all
  probe libtorch
  mapfile -t lacking < <(missing required; missing tests; missing optional)
  if ((${#lacking[@]})); then
    say_why "${lacking[@]}"
    say_how_to_get "${lacking[@]}"
  fi
  if [[ ${state[libtorch]} == missing ]]; then
    printf '\nlibtorch: env/setup.sh fetches it; LOCKSTEP_TORCH=DIR names one of your own\n'
  fi
  [[ ${state[libtorch]} == ok && -z $(missing required) ]] || exit 1
  exit 0
fi

# One set-up at a time; who had to wait finds the work done.
mkdir -p "$lockstep_cache"
if command -v flock >/dev/null; then
  exec 9>"$lockstep_cache/setup.lock"
  flock 9
  if stamp_is_valid; then
    echo "set-up: done by another run just now ($(since "$began"))"
    exit 0
  fi
fi

echo "set-up: what this machine can do"
probe_all
install_missing
mapfile -t lacking < <(missing required)
if ((${#lacking[@]})); then
  say_why "${lacking[@]}" >&2
  say_how_to_get "${lacking[@]}" >&2
  die "set-up stops: ${lacking[*]} missing. Modules, Spack or conda will do as well: env/README.md"
fi

if [[ ! -e $torch/lib/libtorch_cpu.so ]]; then
  [[ -z $own_torch ]] || die "LOCKSTEP_TORCH=$own_torch has no lib/libtorch_cpu.so"
  fetch_libtorch
fi
probe libtorch
if [[ ${state[libtorch]} == missing ]]; then
  say_why libtorch >&2
  die "the LibTorch in $torch does not work; remove that folder to fetch it again"
fi

mapfile -t lacking < <(missing tests; missing optional)
if ((${#lacking[@]})); then
  say_how_to_get "${lacking[@]}"
  echo "these are not needed to build and train"
fi
write_stamp
echo "set-up: done, LibTorch in $torch ($(since "$began"))"
