#!/bin/sh
# Needs Node.js; the first time it installs the compiler.
set -e
cd "$(dirname "$0")"
[ -d node_modules/assemblyscript ] || npm install
node_modules/.bin/asc module.ts -o visits.wasm --runtime stub --use abort= --optimizeLevel 2 --noAssert
