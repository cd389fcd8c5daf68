#!/usr/bin/env bash
# prefetches.sh OBJECT...: fails when a kernel that reads packed rows of the cache asks for none of them ahead. A
# compiler may take a function of nothing but prefetches for one without effect and drop its calls; decoding 32K
# tokens deep was a third slower for it.
set -euo pipefail
status=0
seen=0
for object in "$@"; do
    [[ $object == */kv_direct.cpp.o ]] || continue
    seen=1
    without=$(objdump -dC --no-show-raw-insn "$object" | awk '
        /^[0-9a-f]+ <.*>:$/ { name = /(score|weighed_sum)_coded</ ? $0 : ""; if (name != "") without[name] = 1 }
        /prefetch/ { delete without[name] }
        END { for (name in without) print name }')
    if [[ -n $without ]]; then
        echo "$object: no prefetch in"
        echo "$without"
        status=1
    fi
done
[[ $seen == 1 ]] || { echo "no kv_direct.cpp.o among the objects"; exit 1; }
exit $status
