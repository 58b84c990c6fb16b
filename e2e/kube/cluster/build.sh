#!/bin/bash
# Build what the test cluster needs into $KUBE_CACHE: the Kubernetes programs (one
# multi-call program), etcd, coredns, helm, prometheus, and the images. Needs Go, gcc, python3 and the
# Debian packages of packages.txt. Does nothing for what is already there.
#
#   build.sh              all
#   build.sh prometheus   Prometheus alone
#   build.sh core         without Prometheus and without other people's systems: what the short form of the test needs
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
extent=${1:-all}
case $extent in all|core|prometheus) ;; *) die "unknown argument '$extent'; use no argument, core or prometheus" ;; esac
mkdir -p "$bin" "$img"
export CGO_ENABLED=0

programs=$here/programs
tags=remove_all_sd,enable_kubernetes_sd    # Prometheus finds targets in Kubernetes only, and has no pages.
component=k8s.io/component-base/version
minor=${KUBE_VERSION#v1.}
# Nothing for debuggers, which the compiler need not write either.
flags=(-p "${KUBE_BUILD_JOBS:-$(nproc)}" -mod=readonly -trimpath -buildvcs=false -tags "$tags" -gcflags=all=-dwarf=false
    -ldflags "-s -w -X $component.gitVersion=$KUBE_VERSION -X $component.gitMajor=1 -X $component.gitMinor=${minor%.*}
        -X $component.gitTreeState=clean -X helm.sh/helm/v3/internal/version.version=$HELM_VERSION
        -X github.com/prometheus/common/version.Version=$PROMETHEUS_VERSION")

# compile WHAT PACKAGE...: programs of one module, so that a package that several need is compiled once.
compile() {
    local what=$1 part=$KUBE_CACHE/part total; shift
    command -v go >/dev/null || die "Go is missing (1.26, or 1.21 that fetches it): it compiles $what"
    rm -rf "$part"; mkdir -p "$part"
    total=$(cd "$programs" && go list -mod=readonly -deps -tags "$tags" "$@" | wc -l)
    say "building $what: $total packages, fewer where the build cache has some"
    (cd "$programs" && go build -v "${flags[@]}" -o "$part/" "$@" 2>&1) | {
        n=0
        while read -r line; do
            case $line in *" "*|*:*) echo "$line" >&2 ;; *) n=$((n + 1)); [ $((n % 200)) != 0 ] || say "compiled $n of $total packages" ;; esac
        done
    }
    mv "$part"/* "$bin/"
    rmdir "$part"
    say "built $what"
}
# Others may want the same programs at the same time.
exec 9>"$KUBE_CACHE/lock"
flock -n 9 || { say "waiting for another build in $KUBE_CACHE"; flock 9; }
here_all() { local n; for n in "$@"; do [ -x "$bin/$n" ] || return 1; done; }
[ "$extent" = prometheus ] || here_all kube etcd coredns helm ||
    compile "Kubernetes $KUBE_VERSION, etcd $ETCD_VERSION, CoreDNS $COREDNS_VERSION, Helm $HELM_VERSION" \
        ./kube ./etcd ./coredns helm.sh/helm/v3/cmd/helm
for c in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl; do
    [ "$extent" = prometheus ] || ln -sf kube "$bin/$c"
done
if [ "$extent" != core ]; then
    here_all prometheus promtool || compile "Prometheus $PROMETHEUS_VERSION" \
        github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus/cmd/promtool
fi
[ "$extent" != prometheus ] || exit 0
mk() { python3 "$here/../mkimage.py" "$@"; }
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
[ "$extent" = core ] || {
unpack older bullseye python3-minimal,libpython3-stdlib,libc6
unpack newer trixie base-files,python3-minimal,libpython3-stdlib,libc6
unpack musl bookworm musl
}
say "ready: $(du -sh "$KUBE_CACHE" | cut -f1) in $KUBE_CACHE"
