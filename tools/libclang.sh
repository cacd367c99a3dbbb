#!/usr/bin/env bash
# Brings libclang, which the SQL parser's build script (bindgen) loads, into build/libclang without root.
# .cargo/config.toml of the workspace points at the two folders made here.
set -euo pipefail
dir=$(cd "$(dirname "$0")/.." && pwd)/build/libclang
[ -e "$dir/done" ] && exit 0
mkdir -p "$dir"
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$dir/python" libclang==18.1.1
ln -sfn python/clang/native "$dir/lib"
# libclang alone ships no compiler headers (stddef.h …): the C compiler's own serve.
ln -sfn "$(dirname "$(${CC:-cc} -print-file-name=include/stddef.h)")" "$dir/include"
touch "$dir/done"
