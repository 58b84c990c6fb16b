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
import pathlib
import shutil
import tarfile
import tempfile

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
OCI = "application/vnd.oci.image."
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def digest_of(path):
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def members(files, trees):
    """(source, path in the image) of every file."""
    yield from ((source, target.strip("/")) for source, target in files)
    for source, target in trees:
        for folder, names, inside in os.walk(source):
            names[:] = sorted(name for name in names if name != "__pycache__")
            place = os.path.join(target.strip("/"), os.path.relpath(folder, source))
            yield from ((os.path.join(folder, name), os.path.normpath(f"{place}/{name}")) for name in sorted(inside))


def add(archive, info, content=None):
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = EPOCH
    archive.addfile(info, content)


def add_file(archive, source, target, mode):
    """`mode`: from the file's own to that in the archive."""
    info = archive.gettarinfo(source, target)
    info.mode = mode(info.mode)
    if not info.isreg():
        return add(archive, info)
    with open(source, "rb") as content:
        add(archive, info, content)


def add_text(archive, name, text):
    info = tarfile.TarInfo(name)
    info.size = len(text)
    add(archive, info, io.BytesIO(text.encode()))


def write_layer(path, found):
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        made = set()
        for source, target in found:
            for folder in [*map(str, pathlib.PurePath(target).parents)][-2::-1]:
                if folder not in made:
                    made.add(folder)
                    info = tarfile.TarInfo(folder)
                    info.type, info.mode = tarfile.DIRTYPE, 0o755
                    add(archive, info)
            add_file(archive, source, target, lambda mode: mode | 0o444)


def seal(plain, is_plain):
    """The layer as it goes into the archive: (path, media type, digest of the plain layer)."""
    digest = digest_of(plain)
    if is_plain:
        return plain, OCI + "layer.v1.tar", digest
    packed = plain.with_suffix(".gz")
    with open(plain, "rb") as source, open(packed, "wb") as out, gzip.GzipFile("", "wb", 1, out, mtime=0) as zipped:
        shutil.copyfileobj(source, zipped, 1 << 20)
    plain.unlink()
    return packed, OCI + "layer.v1.tar+gzip", digest


def blob(archive, media, content):
    text = json.dumps(content, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    add_text(archive, f"blobs/sha256/{digest}", text)
    return {"mediaType": OCI + media, "digest": f"sha256:{digest}", "size": len(text)}


def write_image(out, name, layer=None, files=(), trees=(), env=(), plain=False, **config):
    """`files` and `trees`: (source, path in the image). `config`: entrypoint, cmd, user, workdir."""
    with tempfile.TemporaryDirectory(dir=pathlib.Path(out).resolve().parent) as folder:
        work, layers = pathlib.Path(folder), []
        if layer:
            layers.append(seal(pathlib.Path(shutil.copyfile(layer, work / "base.tar")), plain))
        if files or trees:
            write_layer(work / "files.tar", members(files, trees))
            layers.append(seal(work / "files.tar", plain))
        with tarfile.open(work / "image.tar", "w", format=tarfile.GNU_FORMAT) as archive:
            write_archive(archive, name, layers, {"env": [PATH, *env], **config})
        os.rename(work / "image.tar", out)


def write_archive(archive, name, layers, config):
    named = {"workdir": "WorkingDir", "cmd": "Cmd", "entrypoint": "Entrypoint", "user": "User", "env": "Env"}
    root = {"type": "layers", "diff_ids": [digest for _, _, digest in layers]}
    config = {named[key]: value for key, value in config.items() if value}
    about = {"architecture": "amd64", "os": "linux", "config": config, "rootfs": root}
    configuration = blob(archive, "config.v1+json", about)
    described = []
    for path, media, _ in layers:
        digest = digest_of(path)
        described.append({"mediaType": media, "digest": digest, "size": path.stat().st_size})
        add_file(archive, path, "blobs/" + digest.replace(":", "/"), lambda mode: 0o644)
        path.unlink()
    media = "manifest.v1+json"
    content = {"schemaVersion": 2, "mediaType": OCI + media, "config": configuration, "layers": described}
    manifest = blob(archive, media, content)
    tag = name.rpartition(":")[2]
    manifest["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
    add_text(archive, "index.json", json.dumps({"schemaVersion": 2, "manifests": [manifest]}))
    add_text(archive, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}))


def main():
    pair = lambda text: text.split("=", 1)
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("name")
    parser.add_argument("--layer")
    parser.add_argument("--file", action="append", default=[], dest="files", type=pair)
    parser.add_argument("--tree", action="append", default=[], dest="trees", type=pair)
    parser.add_argument("--entrypoint", type=json.loads)
    parser.add_argument("--cmd", type=json.loads)
    parser.add_argument("--user", default="")
    parser.add_argument("--workdir", default="")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--plain", action="store_true")
    write_image(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
