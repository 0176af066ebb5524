#!/bin/bash
#BSUB -J contention
#BSUB -n 8
#BSUB -R "span[ptile=2]"
#BSUB -m "n0 n1 n2 n7"
#BSUB -W 3
#BSUB -x
#BSUB -o '/scratch/a run/job-%J.log'
#BSUB -q batch
#BSUB -P hpc42
#BSUB --hint=nomultithread

# Written by Weft; you may read, edit and submit it by hand: `weft run` with the same arguments picks up what it leaves.
# Each launch is skipped when its end is already noted, so the script may be submitted again as it is.
cd '/scratch/a run' || exit 1
module load openmpi

# One job at a time measures this run; another one (of an array, or Weft's own) waits, and goes on where that ends.
exec 9>>launches/job.lock
flock -n -E 75 9 2>/dev/null
case $? in
0) ;;
75)
    echo "waiting for another job of this run, which holds launches/job.lock"
    flock 9
    ;;
*) echo "warning: launches/job.lock cannot be locked here: submit one job of this run at a time" ;;
esac
echo "process $$ on $(uname -n)" >launches/job.lock

# Where perfquery may read them, the counters of the nodes' InfiniBand ports are kept before and after each launch.
timeout 30 perfquery -x >/dev/null 2>&1 && counted=yes
ports() { # ports NAME before|after
    [ "$counted" ] && eval "timeout 60 $each_node sh launches/ports.sh $1 $2" >/dev/null 2>&1 </dev/null
}

# launch NAME LIMIT_SECONDS COMMAND...: the exit code and the seconds go to launches/NAME.end once it has ended
launch() {
    local name=$1 limit=$2
    shift 2
    [ -e "launches/$name.end" ] && return
    ports "$name" before
    rm -f "launches/$name.status" # of an earlier start
    local began=$SECONDS
    timeout --kill-after=10 "$limit" "$@" >"launches/$name.log" 2>&1 </dev/null 9>&-
    local code=$? took=$((SECONDS - began))
    ports "$name" after
    # at the job's own time limit the scheduler ends the launch: that is no end of its own, the next job takes it up
    [ $SECONDS -ge 175 ] && exit 0
    # on a full disk the line is missing, and a name is free
    echo "$code $took" >"launches/$name.end.part" && mv "launches/$name.end.part" "launches/$name.end"
}

each_node='env SLURMD_NODENAME=n0'
launch f000.l1 80 env OMPI_MCA_btl=self,tcp mpiexec -n 2 /opt/weft-measure '/scratch/a run/launches/f000.l1.plan'
each_node='env SLURMD_NODENAME=n0'
launch c000.l1 80 env OMPI_MCA_btl=self,tcp mpiexec -n 8 /opt/weft-measure '/scratch/a run/launches/c000.l1.plan'
