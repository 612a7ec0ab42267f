//! Runtimes for what commands do: on one thread, or on all cores.

use tokio::runtime::{Builder, Runtime};

use super::failure::Failure;

/// Runs a future on a runtime of this thread alone.
pub(super) fn blocking<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    on(&mut Builder::new_current_thread(), future)
}

/// Runs a future on a runtime of as many threads as there are cores.
pub(super) fn multithreaded<T>(
    future: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    on(&mut Builder::new_multi_thread(), future)
}

/// A runtime; its errors say what was being done.
pub(super) fn started(runtime: &mut Builder) -> Result<Runtime, Failure> {
    let runtime = runtime.enable_all().build();
    runtime.map_err(|error| Failure::Other(format!("starting the runtime: {error}")))
}

fn on<T>(
    runtime: &mut Builder,
    future: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime = started(runtime)?;
    let outcome = runtime.block_on(future);
    // Whatever still waits for a disk, for the name of a host or for somebody who reads a pipe has had its time.
    runtime.shutdown_background();
    outcome
}
