#!/usr/bin/env bash
# Format check: every C++ source is as clang-format leaves it. `--fix` rewrites instead.
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=(--dry-run --Werror)
[ "${1:-}" = "--fix" ] && mode=(-i)
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cc' '*.c' |
  xargs -0 -r -n 40 -P "$(nproc)" clang-format-14 --style=file "${mode[@]}"
