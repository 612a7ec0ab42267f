//! End to end: the program as its users run it, over real sockets on loopback, with recordings of real agents.

mod check;
mod delivery;
mod disk;
mod doors;
mod eval;
mod forward;
mod fuzz;
mod guard;
mod guard_clients;
mod guarded_agent;
mod kill;
mod leaving;
mod locks;
mod metrics;
mod overload;
mod reload;
mod sdks;
mod secrets;
mod soak;
mod support;
mod tenants;
mod transports;
