//! The address on which Eddy tells what it knows: gRPC (`eddy.v1`) and JSON over HTTP, on one port.
//!
//! The manual of the gRPC side is `proto/eddy/v1/`.

pub mod v1;
