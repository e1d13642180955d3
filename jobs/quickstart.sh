#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# From a fresh machine to a trained network: set-up, build, Fashion-MNIST packed into shards, training on two ranks.
# The last line is the accuracy on the 10,000 test images; the exit code is the trainer's.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=env/common.sh
source "$root/env/common.sh"

usage() {
  cat <<EOF
usage: jobs/quickstart.sh [--np N] [--fashion-mnist DIR] [--run-dir DIR] [trainer options]
  --np N               ranks (default 2)
  --fashion-mnist DIR  folder with the four IDX files (default: Debian's package dataset-fashion-mnist)
  --run-dir DIR        where the run goes (default: a new folder under $lockstep_cache/runs)
Other arguments go to the trainer and replace the settings here, e.g. --epochs 1.
EOF
}

ranks=2 source_dir=/usr/share/datasets/fashion-mnist run_dir='' given=()
while (($#)); do
  case $1 in
    --np) ranks=${2:?"--np needs a number"} && shift ;;
    --fashion-mnist) source_dir=${2:?"--fashion-mnist needs a folder"} && shift ;;
    --run-dir) run_dir=${2:?"--run-dir needs a folder"} && shift ;;
    --run-dir=*) run_dir=${1#*=} ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) given+=("$1") ;;
  esac
  shift
done
trainer=$root/build/release/trainer
data=$lockstep_cache/fashion-mnist
run_dir=${run_dir:-$lockstep_cache/runs/quickstart-$(date +%Y%m%d-%H%M%S)-$$}

# pack NAME PREFIX SHARDS: the IDX files with that prefix become data/NAME, once.
pack() {
  if [[ ! -e $data/$1/index.json ]]; then
    rm -rf "${data:?}/$1"
    "$trainer" pack --idx-images "$source_dir/$2-images-idx3-ubyte.gz" --idx-labels "$source_dir/$2-labels-idx1-ubyte.gz" \
      --out "$data/$1" --shards "$3"
  fi
}

# default_option --NAME VALUE: unless the user gave that option
options=()
default_option() {
  local argument
  for argument in "${given[@]}"; do
    if [[ $argument == "$1" || $argument == "$1="* ]]; then
      return 0
    fi
  done
  options+=("$1" "$2")
}

# The last evaluation in a metrics.jsonl, for people.
test_accuracy() {
  awk 'function field(name) { return match($0, "\"" name "\": *[0-9.eE+-]+") ? \
         substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : "" }
    /"event": *"eval"/ { accuracy = field("accuracy"); correct = field("correct"); samples = field("samples") }
    END { if (samples == "") exit 1; printf "test accuracy %.4f (%d of %d)\n", accuracy, correct, samples }' "$1"
}

start=$(now_ms)
bash "$root/env/setup.sh"
if [[ ! -e $source_dir/train-images-idx3-ubyte.gz && $source_dir == /usr/share/datasets/fashion-mnist ]]; then
  echo "installing dataset-fashion-mnist with apt"
  apt_install dataset-fashion-mnist >/dev/null 2>&1 || true  # what is missing is said below
fi
for file in {train,t10k}-{images-idx3,labels-idx1}-ubyte.gz; do
  [[ -e $source_dir/$file ]] || die "no $source_dir/$file. Fashion-MNIST is four files (Debian: package dataset-fashion-mnist; \
else github.com/zalandoresearch/fashion-mnist): name their folder with --fashion-mnist DIR"
done
setup_time=$(since "$start")

start=$(now_ms)
build_release "$root" trainer
build_time=$(since "$start")

start=$(now_ms)
mkdir -p "$data" "$(dirname "$run_dir")"
pack train train 8
pack test t10k 2
pack_time=$(since "$start")

default_option --data "$data/train"
default_option --eval-data "$data/test"
default_option --model cnn
default_option --optimizer adamw
default_option --lr 0.002
default_option --lr-schedule cosine
default_option --warmup-steps 100
default_option --batch-size 128
default_option --epochs 3
# shellcheck disable=SC2207 # flags are words
launch=(mpirun $(mpirun_flags) -np "$ranks")
command=("${launch[@]}" "$trainer" train --run-dir "$run_dir" "${options[@]}" "${given[@]}")
echo "+ ${command[*]}"
start=$(now_ms)
code=0
"${command[@]}" </dev/null || code=$?
echo
echo "time: set-up $setup_time, build $build_time, pack $pack_time, training $(since "$start")"
echo "run folder: $run_dir"
if ((code == 0)); then
  test_accuracy "$run_dir/metrics.jsonl" || echo "no evaluation in $run_dir/metrics.jsonl"
fi
exit "$code"
