//! The `eddy` program: everything is in the library.

use std::process::ExitCode;

/// Measured against glibc's: two fifths less CPU a span.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    eddy::cli::run()
}
