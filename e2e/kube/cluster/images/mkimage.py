#!/usr/bin/env python3
"""Write an image as an OCI archive that `ctr images import` accepts; the same input gives the same bytes.

mkimage.py OUT.tar NAME:TAG [--layer ROOTFS.tar] [--file SRC=/DST ...] [--tree SRC=/DST ...]
           [--entrypoint JSON] [--cmd JSON] [--user UID:GID] [--env K=V ...] [--workdir DIR] [--plain]

One layer for --layer, one for all --file and --tree. --plain leaves layers uncompressed: for large images that
stay on this machine.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("name")
parser.add_argument("--layer")
parser.add_argument("--file", action="append", default=[])
parser.add_argument("--tree", action="append", default=[])
parser.add_argument("--entrypoint", type=json.loads)
parser.add_argument("--cmd", type=json.loads)
parser.add_argument("--user", default="")
parser.add_argument("--workdir", default="")
parser.add_argument("--env", action="append", default=[])
parser.add_argument("--plain", action="store_true")
a = parser.parse_args()
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
OCI = "application/vnd.oci.image."


def sha(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def members():
    """(source, path in the image) of every file, folders before what is in them."""
    for spec in a.file:
        source, target = spec.split("=", 1)
        yield source, target.strip("/")
    for spec in a.tree:
        source, target = spec.split("=", 1)
        for folder, names, files in os.walk(source):
            names[:] = sorted(name for name in names if name != "__pycache__")
            inside = os.path.relpath(folder, source)
            for name in sorted(files):
                yield (os.path.join(folder, name), os.path.normpath(os.path.join(target.strip("/"), inside, name)))


def write_files(path):
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as out:
        made = set()
        for source, target in members():
            parts = target.split("/")
            for i in range(1, len(parts)):
                folder = "/".join(parts[:i])
                if folder in made:
                    continue
                made.add(folder)
                info = tarfile.TarInfo(folder)
                info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, EPOCH
                out.addfile(info)
            info = out.gettarinfo(source, target)
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = EPOCH
            info.mode |= 0o444
            if info.isreg():
                with open(source, "rb") as f:
                    out.addfile(info, f)
            else:
                out.addfile(info)


def seal(raw):
    """The layer as it goes into the archive: (path, media type, digest of the plain layer)."""
    plain = sha(raw)
    if a.plain:
        return raw, OCI + "layer.v1.tar", plain
    packed = raw + ".gz"
    with open(raw, "rb") as i, open(packed, "wb") as o, gzip.GzipFile("", "wb", 1, o, mtime=0) as z:
        shutil.copyfileobj(i, z, 1 << 20)
    os.unlink(raw)
    return packed, OCI + "layer.v1.tar+gzip", plain


with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(a.out))) as tmp:
    layers = []
    if a.layer:
        base = os.path.join(tmp, "base.tar")
        shutil.copyfile(a.layer, base)
        layers.append(seal(base))
    if a.file or a.tree:
        files = os.path.join(tmp, "files.tar")
        write_files(files)
        layers.append(seal(files))

    partial = os.path.join(tmp, "image.tar")
    out = tarfile.open(partial, "w", format=tarfile.GNU_FORMAT)

    def add(name, data):
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.mtime = len(data), 0o644, EPOCH
        out.addfile(info, io.BytesIO(data))

    def blob(media, content):
        data = json.dumps(content, sort_keys=True).encode()
        digest = hashlib.sha256(data).hexdigest()
        add("blobs/sha256/" + digest, data)
        return {"mediaType": media, "digest": "sha256:" + digest, "size": len(data)}

    config = {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"] + a.env}
    for key, value in (("Entrypoint", a.entrypoint), ("Cmd", a.cmd), ("User", a.user), ("WorkingDir", a.workdir)):
        if value:
            config[key] = value
    configuration = blob(
        OCI + "config.v1+json",
        {
            "architecture": "amd64",
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + plain for _, _, plain in layers]},
        },
    )
    described = []
    for path, media, _ in layers:
        digest = sha(path)
        described.append({"mediaType": media, "digest": "sha256:" + digest, "size": os.path.getsize(path)})
        info = out.gettarinfo(path, "blobs/sha256/" + digest)
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mode, info.mtime = 0o644, EPOCH
        with open(path, "rb") as f:
            out.addfile(info, f)
        os.unlink(path)
    manifest = blob(
        OCI + "manifest.v1+json",
        {"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json", "config": configuration, "layers": described},
    )
    manifest["annotations"] = {
        "io.containerd.image.name": a.name,
        "org.opencontainers.image.ref.name": a.name.rsplit(":", 1)[1],
    }
    add("index.json", json.dumps({"schemaVersion": 2, "manifests": [manifest]}).encode())
    add("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    out.close()
    os.rename(partial, a.out)
