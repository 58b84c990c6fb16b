#!/bin/bash
# restart_kubelet.sh NUMBER [SECONDS]: kills a node's kubelet and starts it again after so many seconds (1).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
. "$here/node.sh"
[[ ${1:-} =~ ^[0-9]+$ ]] || die "usage: restart_kubelet.sh NUMBER [SECONDS]"
[ -e "$(state_of "$1")/run/kubelet.pid" ] || die "node $1 is not there"
node "$1"
kill -KILL "$(cat "$node_run/kubelet.pid")"
sleep "${2:-1}"
start_kubelet
await kubelet "$KUBE_WAIT" within kubectl wait --for=condition=Ready "node/$node_name" --timeout=5s
say "the kubelet of $node_name runs again"
