# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the Slurm scripts share: check the job's sizes, launch one trainer on all ranks, pass signals on, requeue what is
# worth it, return the trainer's code.

say() { echo "lockstep job ${SLURM_JOB_ID:-?}: $*"; }

job_fails() {
  say "error: $*" >&2
  exit 64
}

# Sizes as Slurm granted them. Contradictions mean idle cores or devices.
read_sizes() {
  nodes=${SLURM_NNODES:?"not inside a Slurm job: submit with sbatch"}
  ranks_per_node=${SLURM_NTASKS_PER_NODE:?"the script needs #SBATCH --ntasks-per-node"}
  ranks=${SLURM_NTASKS:-$((nodes * ranks_per_node))}
  cores=${SLURM_CPUS_PER_TASK:?"the script needs #SBATCH --cpus-per-task"}
  if ((ranks != nodes * ranks_per_node)); then
    say "warning: SLURM_NTASKS=$ranks, but $nodes nodes x $ranks_per_node tasks per node = $((nodes * ranks_per_node)); using the latter" >&2
    ranks=$((nodes * ranks_per_node))
  fi
}

# srun where it can start our MPI's ranks, else mpirun; never one inside the other. LAUNCHER=srun or mpirun decides by hand.
choose_launcher() {
  local kind=${LAUNCHER:-}
  if [[ -z $kind ]]; then
    kind=mpirun
    if srun --mpi=list 2>&1 | grep -q pmix; then
      kind=srun
    fi
  fi
  case $kind in
    srun)
      launch=(srun --mpi=pmix --kill-on-bad-exit=1 --nodes="$nodes" --ntasks="$ranks"
        --ntasks-per-node="$ranks_per_node" --cpus-per-task="$cores")
      ;;
    mpirun)
      # A lost node ends the job within half a minute, not after eight (Open MPI's defaults).
      export OMPI_MCA_oob_tcp_keepalive_time=10 OMPI_MCA_oob_tcp_keepalive_intvl=5 OMPI_MCA_oob_tcp_keepalive_probes=3
      launch=(mpirun --map-by "ppr:$ranks_per_node:node" --bind-to none -np "$ranks")
      ;;
    *) job_fails "LAUNCHER=$kind: srun or mpirun" ;;
  esac
}

# Passes a signal to the launcher, which passes it to the ranks. USR1: save and stop. USR2: save and go on.
forward() {
  signalled=1
  if [[ $1 == TERM ]]; then
    cancelled=1
  fi
  if [[ -n $child ]]; then
    say "$1 passed on to the ranks"
    kill -s "$1" "$child" 2>/dev/null || true
  fi
}

# 75: a rank was lost or stuck. 85: stopped with a checkpoint before the time limit. 137: a rank was killed. 205: mpirun
# lost a node. All others would fail again. A job that was cancelled or ran out of time is not ours to bring back.
worth_requeueing() {
  case $1 in
    75 | 85 | 137 | 205) ;;
    *) return 1 ;;
  esac
  if ((cancelled)); then
    say "not requeued: the job got SIGTERM (cancelled or preempted; Slurm decides)"
    return 1
  fi
  if ((${SLURM_RESTART_COUNT:-0} >= ${LOCKSTEP_MAX_REQUEUE:-10})); then
    say "not requeued: LOCKSTEP_MAX_REQUEUE=${LOCKSTEP_MAX_REQUEUE:-10} restarts used up"
    return 1
  fi
  if ! scontrol show job --oneliner "$SLURM_JOB_ID" | grep -q 'JobState=RUNNING'; then
    say "not requeued: Slurm does not call the job running any more"
    return 1
  fi
}

# Did the user say where the run goes: by option, environment or config file?
names_run_dir() {
  local argument before='' config=''
  for argument in "$@"; do
    case $argument in
      --run-dir | --run-dir=*) return 0 ;;
      --config=*) config=${argument#*=} ;;
      *) [[ $before != --config ]] || config=$argument ;;
    esac
    before=$argument
  done
  [[ -n ${LOCKSTEP_RUN_DIR:-} ]] || { [[ -n $config ]] && grep -qE '^ *run-dir *=' "$config"; }
}

# run_trainer ARGUMENTS...: the whole job. Exits.
run_trainer() {
  local trainer=${TRAINER:-$LOCKSTEP_ROOT/build/release/trainer}
  local code=0 run_dir=(--run-dir "runs/slurm-$SLURM_JOB_ID")
  [[ -x $trainer ]] || job_fails "no trainer at $trainer on $(hostname). Build it on a file system that all nodes see, or set TRAINER"
  # A requeued job keeps its id, finds its run folder and resumes.
  if names_run_dir "$@"; then
    run_dir=()
  fi
  read_sizes
  choose_launcher
  # Since Slurm 22.05 srun no longer takes this from the job.
  export SRUN_CPUS_PER_TASK=$cores OMP_NUM_THREADS=$cores
  say "$nodes nodes x $ranks_per_node ranks x $cores cores, start $((${SLURM_RESTART_COUNT:-0} + 1)), by ${launch[0]}, on ${SLURM_JOB_NODELIST:-?}"
  say "${launch[*]} $trainer train ${run_dir[*]} $*"

  cancelled=0 signalled=0 child=
  trap 'forward USR1' USR1
  trap 'forward USR2' USR2
  trap 'forward TERM' TERM
  "${launch[@]}" "$trainer" train "${run_dir[@]}" "$@" &
  child=$!
  # A trapped signal ends wait early: wait again until the launcher itself is gone.
  while true; do
    signalled=0 code=0
    wait "$child" || code=$?
    ((signalled)) || break
  done

  say "the trainer ended with $code"
  if worth_requeueing "$code"; then
    say "requeueing"
    scontrol requeue "$SLURM_JOB_ID" || say "scontrol requeue failed: submit it again; it resumes from the run folder"
  fi
  exit "$code"
}
