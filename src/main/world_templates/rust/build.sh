#!/bin/sh
# Needs cargo, and once: rustup target add wasm32-unknown-unknown
set -e
cd "$(dirname "$0")"
cargo build --release --target wasm32-unknown-unknown --target-dir target
cp target/wasm32-unknown-unknown/release/visits.wasm visits.wasm
