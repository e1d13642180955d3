#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Slurm scripts against stubs of srun, mpirun and scontrol that write down their arguments.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"

fail() {
  echo "FAILED: $*"
  sed 's/^/    /' "$work"/{out,calls}.txt 2>/dev/null || true
  exit 1
}

cat >"$work/bin/srun" <<'EOF'
#!/usr/bin/env bash
if [[ $1 == --mpi=list ]]; then
  echo "MPI plugin types are... ${STUB_MPI:-pmix}"
  exit 0
fi
echo "$(basename "$0") $*" >>"$STUB_CALLS"
echo "env SRUN_CPUS_PER_TASK=$SRUN_CPUS_PER_TASK OMP_NUM_THREADS=$OMP_NUM_THREADS keepalive=${OMPI_MCA_oob_tcp_keepalive_time:-}" >>"$STUB_CALLS"
if [[ -n ${STUB_WAIT:-} ]]; then
  trap 'echo "got USR1" >>"$STUB_CALLS"; exit 85' USR1
  trap 'echo "got TERM" >>"$STUB_CALLS"; exit 85' TERM
  echo ready >>"$STUB_CALLS"
  for ((i = 0; i < 300; i++)); do sleep 0.1; done
fi
exit "${STUB_CODE:-0}"
EOF
cp "$work/bin/srun" "$work/bin/mpirun"
cat >"$work/bin/scontrol" <<'EOF'
#!/usr/bin/env bash
echo "scontrol $*" >>"$STUB_CALLS"
if [[ $1 == show ]]; then
  echo "JobId=7 JobState=${STUB_STATE:-RUNNING} Reason=None"
fi
EOF
printf '#!/bin/sh\nexit 0\n' >"$work/trainer"
chmod +x "$work"/bin/* "$work/trainer"

# job SCRIPT NAME=VALUE... -- ARGUMENTS: what sbatch would do. Leaves out.txt, calls.txt and $code.
start_job() {
  local script=$1 settings=()
  shift
  while [[ $1 != -- ]]; do
    settings+=("$1")
    shift
  done
  shift
  : >"$work/calls.txt"
  (cd "$work" && exec env PATH="$work/bin:$PATH" STUB_CALLS="$work/calls.txt" TRAINER="$work/trainer" LOCKSTEP_ROOT="$root" \
    SLURM_JOB_ID=7 SLURM_NNODES=2 SLURM_NTASKS=8 SLURM_NTASKS_PER_NODE=4 SLURM_CPUS_PER_TASK=6 \
    "${settings[@]}" bash "$root/jobs/$script" "$@" >"$work/out.txt" 2>&1) &
  job=$!
}
end_job() {
  code=0
  wait "$job" || code=$?
}
job() {
  start_job "$@"
  end_job
}
called() { grep -qE -- "$1" "$work/calls.txt" || fail "expected a call like: $1"; }
not_called() { ! grep -qE -- "$1" "$work/calls.txt" || fail "unexpected call: $1"; }
ended_with() { ((code == $1)) || fail "exit code $code, expected $1"; }
requeued() { called '^scontrol requeue 7$'; }
not_requeued() { not_called '^scontrol requeue'; }

for script in slurm-single-node.sbatch slurm-multi-node.sbatch; do
  for directive in ntasks-per-node= cpus-per-task= requeue signal=B:USR1@ open-mode=append; do
    grep -q "^#SBATCH --$directive" "$root/jobs/$script" || fail "$script has no #SBATCH --$directive"
  done
  grep -q '^set -euo pipefail' "$root/jobs/$script" || fail "$script: no set -euo pipefail"

  # Sizes reach srun, threads follow, arguments and the trainer's code pass.
  job $script -- --model cnn --epochs 2
  ended_with 0
  called '^srun .*--mpi=pmix .*--kill-on-bad-exit=1 .*--nodes=2 --ntasks=8 --ntasks-per-node=4 --cpus-per-task=6 '
  called "trainer train --run-dir runs/slurm-7 --model cnn --epochs 2\$"
  called 'SRUN_CPUS_PER_TASK=6 OMP_NUM_THREADS=6'
  not_called '^mpirun'

  # Worth another try: with the code passed on.
  for code_in in 75 85 137 205; do
    job $script STUB_CODE=$code_in --
    ended_with $code_in
    requeued
  done
  # Would fail again.
  for code_in in 1 64 65 70 76 78; do
    job $script STUB_CODE=$code_in --
    ended_with $code_in
    not_requeued
  done
done

script=slurm-multi-node.sbatch
# Without PMIx in Slurm: mpirun, never both.
job $script STUB_MPI=pmi2 --
called '^mpirun .*--map-by ppr:4:node .*-np 8 '
called 'OMP_NUM_THREADS=6 keepalive=10'
not_called '^srun'

# The user's run folder stays: by option and by config file.
job $script -- --run-dir mine
called 'train --run-dir mine$'
echo 'run-dir = theirs' >"$work/run.ini"
job $script -- --config run.ini
called 'train --config run.ini$'

# Contradictory sizes: a warning with the numbers.
job $script SLURM_NTASKS=6 --
grep -q 'warning: SLURM_NTASKS=6, but 2 nodes x 4 tasks per node = 8' "$work/out.txt" || fail "no warning"
called '--ntasks=8 '

# Limits of requeueing.
job $script STUB_CODE=75 SLURM_RESTART_COUNT=10 --
not_requeued
job $script STUB_CODE=75 LOCKSTEP_MAX_REQUEUE=0 --
not_requeued
job $script STUB_CODE=85 STUB_STATE=CANCELLED --
ended_with 85
not_requeued

# The warning before the time limit reaches the ranks; their code comes back and the job is requeued.
wait_for_ready() {
  for ((i = 0; i < 200; i++)); do
    ! grep -q ready "$work/calls.txt" || return 0
    sleep 0.05
  done
  fail "the stub did not start"
}
start_job $script STUB_WAIT=1 --
wait_for_ready
kill -s USR1 "$job"
end_job
called '^got USR1$'
ended_with 85
requeued
# A cancelled job is not brought back.
start_job $script STUB_WAIT=1 --
wait_for_ready
kill -s TERM "$job"
end_job
called '^got TERM$'
ended_with 85
not_requeued

# Placeholders and missing things fail loudly.
job $script TRAINER="$work/none" --
ended_with 64
grep -q "no trainer at $work/none" "$work/out.txt" || fail "the missing trainer is not named"
job $script LOCKSTEP_ROOT="$work" --
ended_with 64
job $script LAUNCHER=both --
ended_with 64
echo "Slurm scripts do what they should"
