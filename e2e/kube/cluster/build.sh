#!/bin/bash
# Build what the test cluster needs into $KUBE_CACHE: the Kubernetes programs (one
# multi-call program), helm, coredns, prometheus, and the images. Needs Go, gcc, python3 and the
# Debian packages of packages.txt. Does nothing for what is already there.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
mkdir -p "$bin" "$img"
export CGO_ENABLED=0

# Compare whole outputs: under pipefail, "program | grep -q" fails when grep leaves early.
have() { case $("$@" 2>/dev/null || true) in *"$want"*) true ;; *) false ;; esac; }

if want=$KUBE_VERSION; ! have "$bin/kubectl" version --client; then
    v=k8s.io/component-base/version
    minor=${KUBE_VERSION#v1.}
    say "building Kubernetes $KUBE_VERSION"
    (cd "$here/kubernetes" && go build -mod=readonly -trimpath -buildvcs=false -o "$bin/kube" \
        -ldflags "-s -w -X $v.gitVersion=$KUBE_VERSION -X $v.gitMajor=1 -X $v.gitMinor=${minor%.*} -X $v.gitTreeState=clean" .)
    for c in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl; do
        ln -sf kube "$bin/$c"
    done
fi
if want="etcd Version: ${ETCD_VERSION#v}"; ! have "$bin/etcd" --version; then
    say "building etcd $ETCD_VERSION"
    (cd "$here/etcd" && go build -mod=readonly -trimpath -buildvcs=false -ldflags "-s -w" -o "$bin/etcd" .)
fi
if want=$HELM_VERSION; ! have "$bin/helm" version; then
    say "building helm $HELM_VERSION"
    GOBIN=$bin go install -trimpath -buildvcs=false \
        -ldflags "-s -w -X helm.sh/helm/v3/internal/version.version=$HELM_VERSION" \
        "helm.sh/helm/v3/cmd/helm@$HELM_VERSION"
fi
if want=${COREDNS_VERSION#v}; ! have "$bin/coredns" -version; then
    say "building coredns $COREDNS_VERSION"
    (cd "$here/coredns" && go build -mod=readonly -trimpath -buildvcs=false -ldflags "-s -w" -o "$bin/coredns" .)
fi
if want="version $PROMETHEUS_VERSION"; ! have "$bin/prometheus" --version; then
    say "building prometheus $PROMETHEUS_VERSION"    # Without its pages, and with discovery in Kubernetes only.
    (cd "$here/prometheus" && go build -mod=readonly -trimpath -buildvcs=false -tags remove_all_sd,enable_kubernetes_sd \
        -ldflags "-s -w -X github.com/prometheus/common/version.Version=$PROMETHEUS_VERSION" -o "$bin/prometheus" \
        github.com/prometheus/prometheus/cmd/prometheus)
fi
mk() { python3 "$here/images/mkimage.py" "$@"; }
if [ ! -e "$img/pause.tar" ]; then
    gcc -Os -static -o "$img/pause" -x c - <<'END'
/* The sandbox's first process: reaps what is handed to it and ends on a signal. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_end(int s) { (void)s; _exit(0); }
static void on_child(int s) { (void)s; while (waitpid(-1, 0, WNOHANG) > 0) {} }

int main(void)
{
    struct sigaction end = {.sa_handler = on_end};
    struct sigaction child = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP};
    sigaction(SIGINT, &end, 0);
    sigaction(SIGTERM, &end, 0);
    sigaction(SIGCHLD, &child, 0);
    for (;;) pause();
}
END
    mk "$img/pause.tar" e2e.local/pause:1 --file "$img/pause=/pause" --entrypoint '["/pause"]' --user 65535:65535
    rm "$img/pause"
fi
[ "$img/coredns.tar" -nt "$bin/coredns" ] || mk "$img/coredns.tar" e2e.local/coredns:1 --file "$bin/coredns=/coredns" --entrypoint '["/coredns"]'
if [ ! -e "$img/debian.tar" ]; then
    say "making the Debian base image"
    mmdebstrap --quiet --variant=minbase --include=python3,ca-certificates --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*'  \
        bookworm "$img/rootfs.tar"
    mk "$img/debian.tar" e2e.local/debian:12 --layer "$img/rootfs.tar" --cmd '["/bin/sh"]'
    mkdir -p "$KUBE_CACHE/base"
    mv "$img/rootfs.tar" "$KUBE_CACHE/base/debian.tar"    # For images that stand on it.
fi
# Other people's systems, unpacked and not set up: an older and a newer Debian with Python, and the loader of musl.
unpack() { # NAME RELEASE PACKAGES
    [ -e "$KUBE_CACHE/base/$1.tar" ] && return
    say "unpacking $1"
    mmdebstrap --quiet --variant=extract --include="$3" --dpkgopt='path-exclude=/usr/share/doc/*' "$2" "$KUBE_CACHE/base/$1.part.tar"
    mv "$KUBE_CACHE/base/$1.part.tar" "$KUBE_CACHE/base/$1.tar"
}
unpack older bullseye python3-minimal,libpython3-stdlib,libc6
unpack newer trixie base-files,python3-minimal,libpython3-stdlib,libc6
unpack musl bookworm musl
say "ready: $(du -sh "$KUBE_CACHE" | cut -f1) in $KUBE_CACHE"
