# Functions that make a node; up.sh uses them for the first, add_node.sh for the others. Stands on env.sh.
#
# A node is a process that holds a network and a mount namespace, a cgroup, a container runtime, a kubelet and a
# kube-proxy. Node 1 has the control plane's namespaces and the subnet .0.0/24 of the pods; node N has .N-1.0/24 and is
# reached over node 1, which the wire of each ends in.

# node N: sets what follows for node N.
node() {
    number=$1
    node_state=$(state_of "$1") node_address=$KUBE_NODE_NET.$1 node_name=$(name_of "$1") node_cgroup=$(cgroup_of "$1")
    node_run=$node_state/run node_log=$node_state/log node_pods=${KUBE_POD_CIDR%.*.*}.$(($1 - 1)).0/24
    mkdir -p "$node_run"/{shim,containers,sysctl} "$node_log" "$node_state"/{containerd,kubelet,cni,cni.d,podlogs}
}
within_node() { nsenter -t "$(cat "$node_run/holder.pid")" -m -n -- "$@"; }

# start NAME COMMAND...: a daemon in the node's namespaces, its pid in $node_run/NAME.pid
start() {
    local name=$1; shift
    setsid nsenter -t "$(cat "$node_run/holder.pid")" -m -n -- "$@" >"$node_log/$name.log" 2>&1 </dev/null &
    echo $! > "$node_run/$name.pid"
}
# await NAME SECONDS TEST...: until TEST succeeds, as long as daemon NAME lives
await() {
    local name=$1 end=$(($(date +%s) + $2)); shift 2
    until "$@" >/dev/null 2>&1; do
        kill -0 "$(cat "$node_run/$name.pid")" 2>/dev/null || { tail -5 "$node_log/$name.log" >&2; die "$name ended"; }
        [ "$(date +%s)" -lt $end ] || die "timed out waiting for: $*"
        sleep 0.2
    done
}

cert() { # NAME SUBJECT USAGE [SAN]
    openssl ecparam -name prime256v1 -genkey -noout -out "$pki/$1.key"
    openssl req -new -key "$pki/$1.key" -subj "$2" -out "$pki/$1.csr"
    openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days 30 -out "$pki/$1.crt" \
        -extfile <(echo "extendedKeyUsage=$3"; [ -z "${4:-}" ] || echo "subjectAltName=$4") 2>/dev/null
}
kubeconfig() { # FILE CERT
    cat > "$1" <<END
apiVersion: v1
kind: Config
clusters: [{name: e2e, cluster: {server: "https://$node_ip:6443", certificate-authority: $pki/ca.crt}}]
users: [{name: me, user: {client-certificate: $pki/$2.crt, client-key: $pki/$2.key}}]
contexts: [{name: e2e, context: {cluster: e2e, user: me}}]
current-context: e2e
END
    chmod 600 "$1"
}
node_keys() {
    cert "kubelet-server-$number" "/CN=$node_name" serverAuth "DNS:$node_name,IP:$node_address"
    cert "node-$number" "/O=system:nodes/CN=system:node:$node_name" clientAuth
    kubeconfig "$pki/node-$number.kubeconfig" "node-$number"
}

# Everything the node mounts or configures vanishes with its namespaces. The paths below are fixed in containerd, runc,
# CNI or the kubelet, so they are covered by directories of ours; so are the kernel settings the kubelet would change.
node_namespaces() {
    mkdir -p /run/containerd /var/lib/kubelet /var/lib/cni /var/log/pods /var/log/containers
    cat > "$node_run/holder.sh" <<END
mount --make-rshared /
mount --bind $node_run/shim /run/containerd
mount --bind $node_state/kubelet /var/lib/kubelet
mount --bind $node_state/cni /var/lib/cni
mount --bind $node_state/podlogs /var/log/pods
mount --bind $node_run/containers /var/log/containers
for s in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
         kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    f=$node_run/sysctl/\$(echo \${s%=*} | tr / .)
    echo \${s#*=} > \$f
    mount --bind \$f /proc/sys/\${s%=*}
done
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
touch $node_run/holder.ready
exec sleep infinity
END
    setsid unshare -m -n --propagation private sh -e "$node_run/holder.sh" >"$node_log/holder.log" 2>&1 </dev/null &
    echo $! > "$node_run/holder.pid"
    for _ in $(seq 50); do [ -e "$node_run/holder.ready" ] && break; sleep 0.1; done
    [ -e "$node_run/holder.ready" ] || die "namespaces: $(cat "$node_log/holder.log")"
    for c in /sys/fs/cgroup/*/; do mkdir -p "$c$node_cgroup"; done
    # All pods together would weigh as much as one other process of the machine, and time out beside a build.
    f=/sys/fs/cgroup/cpu/$node_cgroup/cpu.shares
    if [ -e "$f" ]; then echo "$KUBE_CPU_SHARES" > "$f"; fi
    # A v1 cpuset is unusable until it names cpus and memory nodes.
    if [ -d /sys/fs/cgroup/cpuset ]; then
        for f in cpuset.cpus cpuset.mems; do cat /sys/fs/cgroup/cpuset/$f > "/sys/fs/cgroup/cpuset/$node_cgroup/$f"; done
    fi
}

node_runtime() {
    cat > "$node_run/containerd.toml" <<END
version = 2
root = "$node_state/containerd"
state = "/run/containerd/state"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.zfs", "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing"]
[grpc]
  address = "$node_run/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$node_state/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "e2e.local/pause:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$node_state/cni.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
END
    cat > "$node_state/cni.d/10-e2e.conflist" <<END
{"cniVersion": "0.4.0", "name": "e2e", "plugins": [
  {"type": "bridge", "bridge": "pods0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$node_pods"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
END
    start containerd containerd --config "$node_run/containerd.toml"
    await containerd 20 ctr -a "$node_run/containerd.sock" version
}

node_kubelet() {
    : > "$node_run/resolv.conf"
    cat > "$node_run/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node_address
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $pki/kubelet-server-$number.crt
tlsPrivateKeyFile: $pki/kubelet-server-$number.key
containerRuntimeEndpoint: unix://$node_run/containerd.sock
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /$node_cgroup
failSwapOn: false
oomScoreAdj: 0
clusterDNS: [$KUBE_DNS_IP]
clusterDomain: cluster.local
resolvConf: $node_run/resolv.conf
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%, imagefs.inodesFree: 1%}
volumePluginDir: $node_state/kubelet/volumeplugins
END
    cat > "$node_run/kube-proxy.yaml" <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: $KUBE_PROXY_MODE
clientConnection: {kubeconfig: $pki/kube-proxy.kubeconfig}
clusterCIDR: $KUBE_POD_CIDR
hostnameOverride: $node_name
oomScoreAdj: 0
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
END
    start_kubelet
    start kube-proxy "$bin/kube-proxy" --config="$node_run/kube-proxy.yaml"
    await kubelet "$KUBE_WAIT" within kubectl wait --for=condition=Ready "node/$node_name" --timeout=5s
}
start_kubelet() {
    start kubelet "$bin/kubelet" --config="$node_run/kubelet.yaml" --kubeconfig="$pki/node-$number.kubeconfig" \
        --hostname-override="$node_name" --node-ip="$node_address"
}
