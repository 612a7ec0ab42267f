//! The `eddy` program: everything is in the library.

use std::process::ExitCode;

/// Most of a span's cost is small values that live for a moment, which this allocator is made for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    eddy::cli::run()
}
