//! A fleet on a real Slurm: a controller and four nodes on this host, in a folder of their own and gone with this process, and on a real
//! PostgreSQL.
//! With CI=true one that is missing is a failure.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed, and says why")]
mod clusters;
#[expect(dead_code, reason = "it belongs to `it`, and little of it is needed here")]
#[path = "../it/desk.rs"]
mod desk;
mod job;
#[cfg(feature = "postgresql")]
#[expect(dead_code, reason = "it belongs to `services_store`, and little of it is needed here")]
#[path = "../services_store/server.rs"]
mod server;
#[path = "../services_store/shared.rs"]
mod shared;
mod slurm;
mod stories;
#[cfg(feature = "postgresql")]
mod together;
