#!/usr/bin/env python3
"""Workload generator for flow-level network simulators; the format is that of replay/flow_file.h.

One file = topology + routes + flows.  Every record is one line, fields separated by one blank.

  # comment
  V 1 <name>                                   format version, workload name
  N <node> <name> <depth> <H|S>                node ids dense from 0; depth 1 = root; H host/port, S switch
  L <pair> <parent> <child> <bytes_per_s>      full duplex cable, pairs dense from 0;
                                               link 2*pair   = parent -> child (down)
                                               link 2*pair+1 = child -> parent (up)
  T <0|1>                                      1: every route is the unique tree route (climb first parent)
  R <route> <src> <dst> <n> <link>*n           routes dense from 0; unique per (src,dst)
  C <nflows>                                   number of F records that follow
  F <flow> <start_ns> <bytes> <route> <ndeps> <flow>*ndeps
                                               flow ids dense from 0, deps always point to smaller ids.
                                               A flow starts at max(start_ns, finish of all deps).
Model every simulator must implement: zero latency, fluid, max-min fair sharing of link capacities, no rate caps.

Workloads (all deterministic, seed fixed):
  ring   --gpus G --chan C --bytes S --mode step|fluid   ring all-reduce on a rail-optimised two-level fabric
  a2a    --hosts H --bytes S [--stagger]                 all-to-all, two-level tree, 8 hosts per rack, 1:1
  hring  --hosts H --bytes S                             host ring all-reduce, 1 flow of
                                                         2(H-1)/H*S per neighbour pair, same tree (ns-3 twin)
  random --k K --flows F --bytes S [--ecmp]              F flows between random host pairs of a k-ary fat tree, all at t=0
  poisson --k K --flows F --load L [--ecmp]              Poisson arrivals, web-search sizes, k-ary fat tree
Fat tree without --ecmp: parallel links of a tier merged into one trunk (tree, ideal spraying), 1:1.
Fat tree with --ecmp: real k-ary fat tree, (k/2)^2 cores, one hashed path per (src,dst).
"""

import argparse
import random
import sys

GB = 10**9
NVLINK = 370 * GB  # bytes/s and direction of one GPU into its NVSwitch
NIC = 50 * GB  # 400 Gb/s
HOST100G = 12500 * 10**6


class W:
    def __init__(self, name):
        self.name, self.nodes, self.links, self.routes, self.flows = name, [], [], [], []
        self.rid, self.tree = {}, 1

    def node(self, name, depth, kind):
        self.nodes.append((name, depth, kind))
        return len(self.nodes) - 1

    def cable(self, parent, child, bw):
        self.links.append((parent, child, int(bw)))
        return len(self.links) - 1

    def route(self, src, dst, path):
        r = self.rid.get((src, dst))
        if r is None:
            r = self.rid[(src, dst)] = len(self.routes)
            self.routes.append((src, dst, path))
        return r

    def flow(self, start, nbytes, route, deps=()):
        self.flows.append((start, nbytes, route, deps))
        return len(self.flows) - 1

    def write(self, f):
        w = f.write
        w(f"V 1 {self.name}\n")
        for i, (n, d, k) in enumerate(self.nodes):
            w(f"N {i} {n} {d} {k}\n")
        for i, (p, c, b) in enumerate(self.links):
            w(f"L {i} {p} {c} {b}\n")
        w(f"T {self.tree}\n")
        for i, (s, d, p) in enumerate(self.routes):
            w(f"R {i} {s} {d} {len(p)} {' '.join(map(str, p))}\n")
        w(f"C {len(self.flows)}\n")
        for i, (t, b, r, dp) in enumerate(self.flows):
            w(f"F {i} {t} {b} {r} {len(dp)}{''.join(' %d' % x for x in dp)}\n")


def up(c):
    return 2 * c + 1


def down(c):
    return 2 * c


def ring(G, C, S, mode, hosts_per_leaf=32):
    assert G % 8 == 0 and 1 <= C <= 8
    w = W(f"ring_{mode}_g{G}_c{C}")
    H = G // 8
    pods = (H + hosts_per_leaf - 1) // hosts_per_leaf
    root = w.node("spine", 1, "S")
    leaf, leafc = {}, {}
    for r in range(8):
        for p in range(pods):
            leaf[r, p] = w.node(f"leaf_{r}_{p}", 2, "S")
            leafc[r, p] = w.cable(root, leaf[r, p], NIC * hosts_per_leaf)
    gpu, gpuc, nic, nicc = [], [], {}, {}
    for h in range(H):
        nv = w.node(f"nvsw_{h}", 2, "S")
        for r in range(8):
            g = w.node(f"gpu_{h * 8 + r}", 3, "H")
            gpu.append(g)
            gpuc.append(w.cable(nv, g, NVLINK))
            n = w.node(f"nic_{h}_{r}", 3, "H")
            nic[h, r] = n
            nicc[h, r] = w.cable(leaf[r, h // hosts_per_leaf], n, NIC)

    def edge(c, h, i):
        """hop i of host h on channel c: 0..6 inside the host, 7 leaves on rail c"""
        if i < 7:
            a, b = h * 8 + (c + i) % 8, h * 8 + (c + i + 1) % 8
            return w.route(gpu[a], gpu[b], [up(gpuc[a]), down(gpuc[b])])
        h2 = (h + 1) % H
        p, p2 = h // hosts_per_leaf, h2 // hosts_per_leaf
        path = [up(nicc[h, c])] + ([] if p == p2 else [up(leafc[c, p]), down(leafc[c, p2])]) + [down(nicc[h2, c])]
        return w.route(nic[h, c], nic[h2, c], path)

    edges = [[edge(c, e // 8, e % 8) for e in range(G)] for c in range(C)]
    if mode == "fluid":
        nb = 2 * (G - 1) * S // (G * C)
        for c in range(C):
            for e in range(G):
                w.flow(0, nb, edges[c][e])
    else:
        nb = S // (G * C)
        prev = [[-1] * G for _ in range(C)]
        for s in range(2 * (G - 1)):
            for c in range(C):
                pc = prev[c]
                cur = [w.flow(0, nb, edges[c][e], () if s == 0 else (pc[e - 1], pc[e])) for e in range(G)]
                prev[c] = cur
    return w


def a2a(H, S, stagger, hring=False):
    w = W(f"hring_{H}" if hring else f"a2a_{H}{'_stag' if stagger else ''}")
    rnd = random.Random(1)
    root = w.node("cloud", 1, "S")
    rs = 8
    tors, host, hc, tc = [], [], [], []
    for r in range(H // rs):
        t = w.node(f"tor_{r}", 2, "S")
        tors.append(t)
        tc.append(w.cable(root, t, HOST100G * rs))
        for j in range(rs):
            h = w.node(f"host_{r * rs + j}", 3, "H")
            host.append(h)
            hc.append(w.cable(t, h, HOST100G))
    for i in range(H):
        for j in range(H):
            if i == j or (hring and j != (i + 1) % H):
                continue
            path = [up(hc[i])] + ([] if i // rs == j // rs else [up(tc[i // rs]), down(tc[j // rs])]) + [down(hc[j])]
            b = 2 * (H - 1) * S // H if hring else S if not stagger else int(S * (0.5 + rnd.random()))
            w.flow(0, b, w.route(host[i], host[j], path))
    return w


class FatTree:
    def __init__(self, w, k, ecmp):
        self.w, self.k, self.ecmp = w, k, ecmp
        m = k // 2
        b = HOST100G
        self.m = m
        self.nh = k * m * m
        w.tree = 0 if ecmp else 1
        self.host, self.hc = [], []
        if not ecmp:
            root = w.node("core", 1, "S")
            self.pc, self.ec = [], []
            for p in range(k):
                a = w.node(f"pod_{p}", 2, "S")
                self.pc.append(w.cable(root, a, b * m * m))
                for e in range(m):
                    t = w.node(f"edge_{p}_{e}", 3, "S")
                    self.ec.append(w.cable(a, t, b * m))
                    for j in range(m):
                        h = w.node(f"host_{len(self.host)}", 4, "H")
                        self.host.append(h)
                        self.hc.append(w.cable(t, h, b))
        else:
            cores = [w.node(f"core_{i}", 1, "S") for i in range(m * m)]
            self.ca, self.ae = {}, {}
            for p in range(k):
                aggs = [w.node(f"agg_{p}_{a}", 2, "S") for a in range(m)]
                for a in range(m):
                    for x in range(m):
                        self.ca[p, a, x] = w.cable(cores[a * m + x], aggs[a], b)
                for e in range(m):
                    t = w.node(f"edge_{p}_{e}", 3, "S")
                    for a in range(m):
                        self.ae[p, e, a] = w.cable(aggs[a], t, b)
                    for j in range(m):
                        h = w.node(f"host_{len(self.host)}", 4, "H")
                        self.host.append(h)
                        self.hc.append(w.cable(t, h, b))

    def route(self, i, j):
        m, w = self.m, self.w
        ei, ej, pi, pj = i // m, j // m, i // (m * m), j // (m * m)
        path = [up(self.hc[i])]
        if ei != ej:
            if not self.ecmp:
                path += [up(self.ec[ei])]
                if pi != pj:
                    path += [up(self.pc[pi]), down(self.pc[pj])]
                path += [down(self.ec[ej])]
            else:
                hsh = (i * 2654435761 + j * 40503 * 65537 + 12345) & 0xFFFFFFFF
                hsh ^= hsh >> 15
                hsh = hsh * 2246822519 & 0xFFFFFFFF
                hsh ^= hsh >> 13
                a, x = hsh % m, (hsh // m) % m
                path += [up(self.ae[pi, ei % m, a])]
                if pi != pj:
                    path += [up(self.ca[pi, a, x]), down(self.ca[pj, a, x])]
                path += [down(self.ae[pj, ej % m, a])]
        path += [down(self.hc[j])]
        return w.route(self.host[i], self.host[j], path)


def rndpair(rnd, n):
    i = rnd.randrange(n)
    j = rnd.randrange(n - 1)
    return i, j + (j >= i)


def random_flows(k, F, S, ecmp):
    w = W(f"random_k{k}_f{F}{'_ecmp' if ecmp else ''}")
    t = FatTree(w, k, ecmp)
    rnd = random.Random(2)
    for _ in range(F):
        i, j = rndpair(rnd, t.nh)
        w.flow(0, int(S * (0.5 + rnd.random())), t.route(i, j))
    return w


WEB = [
    (0, 0.0),
    (10e3, 0.15),
    (20e3, 0.2),
    (30e3, 0.3),
    (50e3, 0.4),
    (80e3, 0.53),
    (200e3, 0.6),
    (1e6, 0.7),
    (2e6, 0.8),
    (5e6, 0.9),
    (10e6, 0.97),
    (30e6, 1.0),
]


def web(rnd):
    u = rnd.random()
    for (x0, p0), (x1, p1) in zip(WEB, WEB[1:]):
        if u <= p1:
            return max(1, int(x0 + (x1 - x0) * (u - p0) / (p1 - p0)))


WEBMEAN = sum((a[0] + b[0]) / 2 * (b[1] - a[1]) for a, b in zip(WEB, WEB[1:]))


def poisson(k, F, load, ecmp):
    w = W(f"poisson_k{k}_f{F}_l{load}{'_ecmp' if ecmp else ''}")
    t = FatTree(w, k, ecmp)
    rnd = random.Random(3)
    lam = load * t.nh * HOST100G / WEBMEAN / 1e9  # flows per ns
    now = 0.0
    for _ in range(F):
        now += rnd.expovariate(lam)
        i, j = rndpair(rnd, t.nh)
        w.flow(int(now), web(rnd), t.route(i, j))
    return w


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sp = ap.add_subparsers(dest="w", required=True)
    p = sp.add_parser("ring")
    p.add_argument("--gpus", type=int, default=64)
    p.add_argument("--chan", type=int, default=1)
    p.add_argument("--bytes", type=int, default=1 << 30)
    p.add_argument("--mode", choices=["step", "fluid"], default="step")
    p = sp.add_parser("a2a")
    p.add_argument("--hosts", type=int, default=64)
    p.add_argument("--bytes", type=int, default=10**6)
    p.add_argument("--stagger", action="store_true")
    p = sp.add_parser("hring")
    p.add_argument("--hosts", type=int, default=64)
    p.add_argument("--bytes", type=int, default=1 << 20)
    p = sp.add_parser("random")
    p.add_argument("--k", type=int, default=16)
    p.add_argument("--flows", type=int, default=10000)
    p.add_argument("--bytes", type=int, default=10**6)
    p.add_argument("--ecmp", action="store_true")
    p = sp.add_parser("poisson")
    p.add_argument("--k", type=int, default=16)
    p.add_argument("--flows", type=int, default=100000)
    p.add_argument("--load", type=float, default=0.5)
    p.add_argument("--ecmp", action="store_true")
    for q in sp.choices.values():
        q.add_argument("-o", "--out", default="-")
    a = ap.parse_args()
    w = (
        ring(a.gpus, a.chan, a.bytes, a.mode)
        if a.w == "ring"
        else a2a(a.hosts, a.bytes, a.stagger)
        if a.w == "a2a"
        else a2a(a.hosts, a.bytes, False, True)
        if a.w == "hring"
        else random_flows(a.k, a.flows, a.bytes, a.ecmp)
        if a.w == "random"
        else poisson(a.k, a.flows, a.load, a.ecmp)
    )
    if a.out == "-":
        w.write(sys.stdout)
    else:
        with open(a.out, "w") as f:
            w.write(f)
