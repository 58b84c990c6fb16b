#!/usr/bin/env bash
# Python check: every program of the tree is as ruff formats it, and has none of the errors that ruff finds
# (pyproject.toml says which). `--fix` rewrites instead. ruff is installed once, outside the tree.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=0.14.5
tools=${EIDOLON_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/eidolon}/ruff-$version
if [ ! -x "$tools/bin/ruff" ]; then
  python3 -m venv "$tools.new"
  "$tools.new/bin/pip" install --quiet --disable-pip-version-check "ruff==$version"
  rm -rf "$tools"
  mv "$tools.new" "$tools"
fi
mapfile -t programs < <(git grep -lE '^#!.*python3' -- ':!*.py' && git ls-files -- '*.py')
if [ "${1:-}" = "--fix" ]; then
  "$tools/bin/python" -m ruff check --force-exclude --quiet --fix "${programs[@]}" || true
  exec "$tools/bin/python" -m ruff format --force-exclude --quiet "${programs[@]}"
fi
status=0
"$tools/bin/python" -m ruff format --force-exclude --check --quiet "${programs[@]}" || status=1
"$tools/bin/python" -m ruff check --force-exclude --quiet "${programs[@]}" || status=1
exit $status
