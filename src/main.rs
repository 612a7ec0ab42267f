//! The `eddy` program: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    eddy::cli::run()
}
