#!/bin/bash
# add_node.sh NUMBER [ARCHIVE.tar...]: another node, 2 or more, in the cluster that up.sh started, with those images.
# NUMBER is that of its address, of its name (node-NUMBER) and of its pods' subnet.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
. "$here/node.sh"
n=${1:-}
[[ $n =~ ^[0-9]+$ && $n -ge 2 && $n -le 99 ]] || die "usage: add_node.sh NUMBER [ARCHIVE.tar...], NUMBER from 2 to 99"
shift
[ -e "$run/holder.ready" ] || die "no cluster at $KUBE_STATE; run up.sh first"
[ ! -e "$(state_of "$n")/run/holder.pid" ] || die "node $n is there"
trap 'rc=$?; [ $rc = 0 ] || echo "add_node.sh failed; logs in $node_log; down.sh clears up" >&2' EXIT
node "$n"
node_namespaces
# A wire from node 1 to this one, and the two routes between their pods.
within ip link add "wire$n" type veth peer name wire1
within ip link set wire1 netns "$(cat "$node_run/holder.pid")"
within ip link set "wire$n" up
within ip route add "$node_address/32" dev "wire$n" src "$node_ip"
within ip route add "$node_pods" via "$node_address" dev "wire$n" onlink
within_node ip link set wire1 up
within_node ip address add "$node_address/32" dev wire1
within_node ip route add "$node_ip/32" dev wire1 src "$node_address"
within_node ip route add default via "$node_ip" dev wire1 onlink src "$node_address"
node_keys
node_runtime
for i in "$img"/*.tar "$@"; do ctr -a "$node_run/containerd.sock" images import "$i"; done >"$node_log/images.log" 2>&1
say "images imported"
node_kubelet
say "$node_name ready"
