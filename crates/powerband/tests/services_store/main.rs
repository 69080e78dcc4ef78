//! Stores on PostgreSQL, as a user meets them: a real server in a folder of its own, restarted, stopped and cut off in mid-run, with a database for
//! each case.
//! With CI=true a server that is missing is a failure.
#![cfg(feature = "postgresql")]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed, and says why")]
mod away;
#[expect(dead_code, reason = "it belongs to `it`, and little of it is needed here")]
#[path = "../it/desk.rs"]
mod desk;
mod differing;
mod everyday;
mod fleet;
mod refused;
mod server;
mod shared;
