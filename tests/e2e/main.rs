//! End to end: the program as its users run it, over real sockets on loopback, with recordings of real agents.

mod abuse;
mod access;
mod asking;
mod bad_input;
mod check;
mod clock;
mod crowd;
mod delivery;
mod disk;
mod doctor;
mod eval;
mod flood;
mod forward;
mod fuzz;
mod guard;
mod guard_clients;
mod guarded_agent;
mod kill;
mod leaving;
mod load;
#[cfg(target_os = "linux")]
mod memory;
mod messages;
mod metrics;
#[cfg(target_os = "linux")]
mod outage;
mod overload;
#[cfg(target_os = "linux")]
mod power;
mod pressure;
mod reload;
mod restarts;
mod sdks;
mod secrets;
#[cfg(target_os = "linux")]
mod soak;
mod stored;
mod streamed;
mod support;
#[cfg(target_os = "linux")]
mod tails;
mod taken_away;
mod tenants;
mod transports;
