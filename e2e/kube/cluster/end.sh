# Functions that end nodes; for down.sh and drop_node.sh. Stands on env.sh. Ends only what up.sh and add_node.sh started.
alive() { [ -n "$1" ] && kill -0 "$1" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; }
# stop PID...: TERM to all, then KILL to those that are left after 3 s
stop() {
    local p left
    for p in "$@"; do alive "$p" && kill -TERM "$p"; done
    for _ in $(seq 30); do
        left=
        for p in "$@"; do alive "$p" && left="$left $p"; done
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    kill -KILL $left 2>/dev/null
}
# pids NUMBER NAME...: of daemons of a node
pids() { local r; r=$(state_of "$1")/run; shift; for n in "$@"; do cat "$r/$n.pid" 2>/dev/null; done; }

# end_node NUMBER: kubelet and proxy, containers, container runtime, namespaces.
end_node() {
    local cgroup holder ns keep p list
    cgroup=$(cgroup_of "$1") holder=$(pids "$1" holder)
    stop $(pids "$1" kubelet kube-proxy)
    # Containers: they are the processes in our cgroup.
    for _ in $(seq 50); do
        list=$(find "/sys/fs/cgroup/pids/$cgroup" -name cgroup.procs -exec cat {} + 2>/dev/null)
        [ -n "$list" ] || break
        kill -KILL $list 2>/dev/null
        sleep 0.1
    done
    # Shims and whatever else lives in the node's mount namespace.
    ns=$(readlink "/proc/$holder/ns/mnt" 2>/dev/null)
    keep=" $holder $(pids "$1" containerd etcd | tr '\n' ' ') "
    if [ -n "$ns" ] && [ "$ns" != "$(readlink /proc/self/ns/mnt)" ]; then
        for p in /proc/[0-9]*; do
            p=${p#/proc/}
            case $keep in *" $p "*) continue ;; esac
            [ "$(readlink "/proc/$p/ns/mnt" 2>/dev/null)" = "$ns" ] && kill -KILL "$p" 2>/dev/null
        done
    fi
    stop $(pids "$1" containerd etcd)
    alive "$holder" && kill -KILL "$holder"
    for _ in $(seq 50); do alive "$holder" || break; sleep 0.1; done
    for c in /sys/fs/cgroup/*/"$cgroup"; do
        [ -d "$c" ] && find "$c" -depth -type d -exec rmdir {} + 2>/dev/null
    done
}
# remove STATE: what a node or the cluster kept. Deleting unpacked images can take many seconds on a busy disk; it does
# not wait for that.
remove() {
    local old=$KUBE_STATE.old.$$.${1##*/}
    if grep -q " $1/" /proc/self/mountinfo; then die "mounts are left under $1"; fi
    mv "$1" "$old"
    setsid rm -rf --one-file-system "$old" </dev/null >/dev/null 2>&1 &
}
