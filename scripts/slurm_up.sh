#!/bin/bash
# Starts slurmctld and slurmd of the folder beside this file, for this host alone, as root and without munge.
#   . ./slurm_up.sh            then: srun -n 4 PROGRAM
# Sourced it sets SLURM_CONF and PATH; run as a program it prints them. slurm_down stops both. State and logs: /tmp/slurm-one.
slurm_up() {
    local here state host cpus try
    here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/slurm
    state=${SLURM_STATE:-/tmp/slurm-one}
    host=$(uname -n)
    host=${host%%.*}
    cpus=$(nproc --all)
    # More than there are do no harm, and -n 4 fits on a small host.
    [ "$cpus" -ge 16 ] || cpus=16
    mkdir -p "$state/ctld" "$state/d"
    chmod +x "$here"/bin/*
    export SLURM_CONF=$state/slurm.conf PATH=$here/bin:$PATH
    if [ -f "$state/slurmd.pid" ] && kill -0 "$(cat "$state/slurmd.pid")" 2>/dev/null; then
        echo "slurmd runs already" >&2
        return 0
    fi
    # A name that resolves: ranks meet at the step's first node.
    getent hosts localhost >/dev/null || echo "127.0.0.1 localhost" >>/etc/hosts
    # Slurm asks for addresses by AI_ADDRCONFIG, which counts no 127.0.0.1: where a host has nothing else, lo gets a second address.
    python3 - <<'END'
import fcntl, socket, struct
try:
    socket.getaddrinfo(None, 16818, socket.AF_INET, socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_ADDRCONFIG)
except OSError:
    print("# only 127.0.0.1 is there: 127.0.0.2 is added to lo")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any:
        address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton("127.0.0.2"))
        fcntl.ioctl(any, 0x8916, struct.pack("16s16s8x", b"lo:2", address))
END
    cat >"$SLURM_CONF" <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
PluginDir=$here/plugins
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$state/ctld
SlurmdSpoolDir=$state/d
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/slurmd.pid
SlurmctldLogFile=$state/slurmctld.log
SlurmdLogFile=$state/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SchedulerType=sched/builtin
SwitchType=switch/none
MpiDefault=none
PropagateResourceLimits=NONE
ReturnToService=2
SlurmctldTimeout=60
SlurmdTimeout=60
InactiveLimit=0
KillWait=5
MinJobAge=60
MailProg=/bin/true
SlurmdParameters=config_overrides
NodeName=localhost NodeHostname=$host NodeAddr=127.0.0.1 CPUs=$cpus State=UNKNOWN
PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
END
    [ -f "$here/plugins/cgroup_v1.so" ] && echo "CgroupPlugin=cgroup/v1" >"$state/cgroup.conf"
    # Each in a session of its own, or it ends with the shell that started it.
    setsid "$here/bin/slurmctld" -c -f "$SLURM_CONF" </dev/null >"$state/slurmctld.out" 2>&1
    setsid "$here/bin/slurmd" -N localhost -f "$SLURM_CONF" -d "$here/bin/slurmstepd" </dev/null >"$state/slurmd.out" 2>&1
    try=$((SECONDS + 12))
    while [ $SECONDS -lt $try ]; do
        if ! kill -0 "$(cat "$state/slurmctld.pid" 2>/dev/null)" 2>/dev/null; then
            sleep 0.2
            continue
        fi
        case $(timeout 2 sinfo -h -o %T 2>/dev/null) in
        idle | mixed | allocated) return 0 ;;
        down*) timeout 2 scontrol update NodeName=localhost State=RESUME >/dev/null 2>&1 ;;
        esac
        sleep 0.2
    done
    echo "no node after 10 s:" >&2
    tail -n 15 "$state"/slurmctld.out "$state"/slurmctld.log "$state"/slurmd.out "$state"/slurmd.log >&2
    return 1
}
slurm_down() {
    local state=${SLURM_STATE:-/tmp/slurm-one} daemon pid
    for daemon in slurmd slurmctld; do
        pid=$(cat "$state/$daemon.pid" 2>/dev/null) && kill "$pid" 2>/dev/null
    done
    return 0
}
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    slurm_up && echo "export SLURM_CONF=$SLURM_CONF PATH=$PATH"
else
    slurm_up
fi
