#!/usr/bin/env bash
# Builds the program as it is fastest, into target/pgo/eddy: once so that it counts which ways it takes, and, when it has been under
# the load of the pipeline's benchmark, once more by what it counted
# (https://doc.rust-lang.org/rustc/profile-guided-optimization.html). That takes two builds and five minutes of load.
set -euo pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
llvm_profdata=$(rustc --print target-libdir)/../bin/llvm-profdata
if [[ ! -x $llvm_profdata ]]; then
    echo "there is no llvm-profdata beside rustc to read what was counted: rustup component add llvm-tools" >&2
    exit 1
fi

work=$PWD/target/pgo
# With a target named, the flags are for the program alone, not for what runs while it is built.
build() {
    RUSTFLAGS=$1 cargo build --release --locked --bin eddy --target "$host" --target-dir "$work"
}

rm -rf "$work/counts"
build "-Cprofile-generate=$work/counts"
cp "$work/$host/release/eddy" "$work/eddy-counting"
# What it prints is no measure of anything: the program that is compared with is built without optimization.
EDDY_PROGRAM=$work/eddy-counting cargo bench --profile dev --locked --bench pipeline -- 100 1 >/dev/null
"$llvm_profdata" merge -o "$work/eddy.profdata" "$work/counts"

build "-Cprofile-use=$work/eddy.profdata"
cp "$work/$host/release/eddy" "$work/eddy"
echo "target/pgo/eddy"
