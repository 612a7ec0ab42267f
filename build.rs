//! Turns `proto/eddy/v1/*.proto` into Rust, and into the descriptors that the reflection service shows, into `OUT_DIR`. The
//! protobuf compiler is a library (protox), so that building Eddy needs no `protoc`.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use protox::prost::Message;

/// The files of the API; what they import is found under [`ROOT`].
const FILES: [&str; 3] = [
    "eddy/v1/guard.proto",
    "eddy/v1/run_service.proto",
    "eddy/v1/warning_service.proto",
];

/// Where the packages begin.
const ROOT: &str = "proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={ROOT}");
    let files = protox::compile(FILES, [ROOT])?;
    let descriptors = Path::new(&env::var("OUT_DIR")?).join("eddy.v1.bin");
    fs::write(descriptors, files.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
