#!/bin/sh
# Needs clang and wasm-ld: apt-get install clang-14 lld-14, or a clang++ of another version that CLANG names.
set -e
cd "$(dirname "$0")"
for candidate in $CLANG clang++-14 clang++ clang++-16 clang++-19; do
  if command -v "$candidate" >/dev/null; then clang=$candidate && break; fi
done
if [ -z "$clang" ]; then
  echo "build.sh: clang is needed: apt-get install clang-14 lld-14" >&2
  exit 1
fi
"$clang" --target=wasm32 -std=c++20 -O2 -Wall -Wextra -ffreestanding -fno-exceptions -fno-rtti -nostdlib \
  -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=65536 module.cc -o visits.wasm
