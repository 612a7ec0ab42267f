//! End to end: the program as its users run it, over real sockets on loopback, with recordings of real agents.

mod check;
mod delivery;
mod doors;
mod eval;
mod forward;
mod kill;
mod leaving;
mod locks;
mod overload;
mod sdks;
mod support;
mod tenants;
mod transports;
