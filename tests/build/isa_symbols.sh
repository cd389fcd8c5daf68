#!/usr/bin/env bash
# isa_symbols.sh OBJECT...: fails when an object that was compiled for one instruction set defines a symbol that
# the linker may share with other objects (an inline function or template outside the variant's own namespace):
# the copy that is kept could use instructions that this machine lacks.
set -euo pipefail
status=0
for object in "$@"; do
    variant=$(sed -n 's/.*\(isa\|int8\)_\(avx2\|avx512\|avx_vnni\|avx512_vnni\)\.dir.*/\2/p' <<< "$object")
    [[ -n $variant ]] || { echo "no variant in the name of $object"; exit 1; }
    shared=$(nm -C --defined-only "$object" | grep -E '^[0-9a-f]* [WVu] ' | grep -v "octavo::$variant::" || true)
    if [[ -n $shared ]]; then
        echo "$object shares:"
        echo "$shared"
        status=1
    fi
done
exit $status
