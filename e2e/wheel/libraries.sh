#!/usr/bin/env bash
# Static libraries of what the commands use and Debian ships shared only: cpp-httplib and prometheus-cpp's core, from
# the sources of this Debian's packages, so that they fit its headers. Once per version, outside the tree. Prints the folder.
set -euo pipefail
cache=${EIDOLON_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/eidolon}
packages=(cpp-httplib prometheus-cpp)
headers=(libcpp-httplib-dev prometheus-cpp-dev)
versions=$(dpkg-query -W -f '${Package} ${Version}\n' "${headers[@]}")
folder=$cache/static-$( (echo "$versions"; cat "$0") | sha256sum | cut -c1-16)
if [ -e "$folder/complete" ]; then echo "$folder"; exit 0; fi
rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/source" "$folder/lib"
cd "$folder/source"
echo "libraries: compiling ${packages[*]} from Debian's sources (once)" >&2

# The sources of the suites that apt already knows, without touching its lists.
python3 - "$folder/apt/debian.sources" <<'END'
import pathlib, re, sys
found = []
for path in sorted(pathlib.Path("/etc/apt").glob("sources.list.d/debian.sources")):
    found.append(re.sub(r"(?m)^Types:.*$", "Types: deb-src", path.read_text()))
for path in [pathlib.Path("/etc/apt/sources.list")]:
    lines = re.findall(r"(?m)^deb( .*)$", path.read_text()) if path.exists() else []
    for line in lines:
        options, address, suite, *parts = re.match(r" (\[.*?\] )?(\S+) (\S+) (.*)$", line).groups()
        found.append(f"Types: deb-src\nURIs: {address}\nSuites: {suite}\nComponents: {parts[0]}\n")
if not found:
    sys.exit("libraries: apt's sources of this distribution are in no file that is understood")
pathlib.Path(sys.argv[1]).write_text("\n".join(found))
END
apt=(apt-get -q -o "Dir::Etc::sourcelist=$folder/apt/debian.sources" -o Dir::Etc::sourceparts=-
  -o "Dir::State::lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt/cache" -o APT::Sandbox::User=root)
log=$folder/log
if ! { "${apt[@]}" update && for name in "${headers[@]}"; do
  source=$(dpkg-query -W -f '${source:Package}=${source:Version}' "$name")
  "${apt[@]}" source --download-only "$source" || exit 1
  dpkg-source --no-check -x "${source%%=*}"_*.dsc "${source%%=*}" || exit 1
done; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "libraries: apt could not fetch the sources; the whole log is $log" >&2
  exit 1
fi

# Hardened as our own sources are (cmake/Harden.cmake).
optimized=(-O2 -fPIC -DNDEBUG -fstack-protector-strong -fcf-protection=full -D_FORTIFY_SOURCE=3)
library() { ar rcs "$folder/lib/$1" "${@:2}"; }
(cd cpp-httplib && python3 "$PWD/split.py" -o out >&2 &&
  # shellcheck disable=SC2046
  g++ -std=c++17 "${optimized[@]}" -D_GLIBCXX_ASSERTIONS $(pkg-config --cflags cpp-httplib) -DCPPHTTPLIB_USE_POLL -c out/httplib.cc -o httplib.o &&
  library libcpp-httplib.a httplib.o)
(cd prometheus-cpp/core && objects=() && for file in $(find src -name '*.cc' | sort); do
  object=$(echo "$file" | tr / _).o
  g++ -std=c++17 "${optimized[@]}" -D_GLIBCXX_ASSERTIONS -Iinclude -Isrc -c "$file" -o "$object"
  objects+=("$object")
done && library libprometheus-cpp-core.a "${objects[@]}")
rm -rf "$folder/source" "$folder/apt"
touch "$folder/complete"
echo "$folder"
