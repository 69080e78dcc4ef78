//! A fleet on a real Slurm: a controller and four nodes on this host, in a folder of their own and gone with the test.
//! With CI=true a Slurm that is missing is a failure.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed, and says why")]
mod clusters;
#[expect(dead_code, reason = "it belongs to `it`, and little of it is needed here")]
#[path = "../it/desk.rs"]
mod desk;
mod slurm;
mod stories;
