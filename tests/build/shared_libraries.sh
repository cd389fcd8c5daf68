#!/usr/bin/env bash
# shared_libraries.sh BINARY NAME...: fails when the binary needs a shared library whose name is not given.
set -euo pipefail
binary=$1
shift
needed=$(LC_ALL=C readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[[ -n $needed ]] || { echo "readelf found no shared library in $binary"; exit 1; }
status=0
for name in $needed; do
    if [[ " $* " == *" $name "* ]]; then
        echo "allowed: $name"
    else
        echo "NOT allowed: $name"
        status=1
    fi
done
exit $status
