#!/bin/sh
# Needs clang and wasm-ld: apt-get install clang-14 lld-14
set -e
cd "$(dirname "$0")"
"${CLANG:-clang++-14}" --target=wasm32 -std=c++20 -O2 -Wall -Wextra -ffreestanding -fno-exceptions -fno-rtti -nostdlib \
  -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=65536 module.cc -o visits.wasm
