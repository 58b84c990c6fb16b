#!/bin/bash
# drop_node.sh NUMBER: ends all processes of a node, 2 or more, at once, as a loss of power would. Its object stays in the
# API server, which finds it not ready after a while; what it kept on disk is removed.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
. "$here/end.sh"
n=${1:-}
[[ $n =~ ^[0-9]+$ && $n -ge 2 ]] || die "usage: drop_node.sh NUMBER, 2 or more"
[ -e "$(state_of "$n")/run/holder.pid" ] || die "node $n is not there"
end_node "$n"
remove "$(state_of "$n")"
say "$(name_of "$n") gone"
