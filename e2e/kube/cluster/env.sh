# Settings shared by build.sh, up.sh and down.sh; every one can be set from outside.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Programs and images, kept between runs: one folder per set of pinned modules.
modules=$(cat "$here"/programs/go.{mod,sum} "$here"/programs/*/main.go | sha256sum | cut -c1-12)
: "${KUBE_CACHE:=${XDG_CACHE_HOME:-$HOME/.cache}/e2e-kube/$modules}"
: "${KUBE_STATE:=/var/tmp/e2e-kube}"                          # one cluster's state; keep it short (socket names)
: "${KUBE_NODE:=node-1}"
: "${KUBE_NODE_NET:=10.90.0}"         # first three bytes of the node network (/24)
: "${KUBE_POD_CIDR:=10.91.0.0/16}"
: "${KUBE_SERVICE_CIDR:=10.92.0.0/16}"
: "${KUBE_SERVICE_IP:=10.92.0.1}"     # kubernetes.default
: "${KUBE_DNS_IP:=10.92.0.10}"
: "${KUBE_PROXY_MODE:=nftables}"      # or iptables
: "${KUBE_CGROUP:=e2e-kube}"          # a cgroup of our own, in every v1 controller
: "${KUBE_CPU_SHARES:=16384}"         # of each node's cgroup; an ordinary process of the machine has 1024
: "${KUBE_WAIT:=120}"                 # seconds to wait for each step

# As in programs/go.mod.
KUBE_VERSION=v1.36.3
ETCD_VERSION=v3.6.14
HELM_VERSION=v3.21.4
COREDNS_VERSION=v1.14.7
PROMETHEUS_VERSION=3.15.0    # v0.315.0 there

node_ip=$KUBE_NODE_NET.1
bin=$KUBE_CACHE/bin
img=$KUBE_CACHE/images
pki=$KUBE_STATE/pki
log=$KUBE_STATE/log
run=$KUBE_STATE/run
export KUBECONFIG=$KUBE_STATE/admin.kubeconfig
export CONTAINERD_ADDRESS=$run/containerd.sock CONTAINERD_NAMESPACE=k8s.io
export PATH=$bin:$PATH

say() { printf '[%6.1fs] %s\n' "$(awk -v a="$t0" '{print $1-a}' /proc/uptime)" "$*"; }
die() { echo "error: $*" >&2; exit 1; }
t0=$(awk '{print $1}' /proc/uptime)

# Node 1 lives in the cluster's own state; others in folders of it.
state_of() { if [ "$1" = 1 ]; then echo "$KUBE_STATE"; else echo "$KUBE_STATE/n$1"; fi; }
name_of() { if [ "$1" = 1 ]; then echo "$KUBE_NODE"; else echo "node-$1"; fi; }
cgroup_of() { if [ "$1" = 1 ]; then echo "$KUBE_CGROUP"; else echo "$KUBE_CGROUP-n$1"; fi; }
# Numbers of the nodes that run.
node_numbers() {
    local f
    echo 1
    for f in "$KUBE_STATE"/n[0-9]*/run/holder.pid; do
        [ -e "$f" ] && { f=${f#"$KUBE_STATE/n"}; echo "${f%%/*}"; }
    done
    return 0
}

holder_pid() { cat "$run/holder.pid" 2>/dev/null; }
# within COMMAND...: run it in the cluster's network and mount namespaces.
within() { nsenter -t "$(holder_pid)" -m -n -- "$@"; }
