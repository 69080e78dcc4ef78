//! The access service, used and attacked, on the files of a simulated machine: each test runs itself again among them
//! (`sim enter`), so one at a time.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed, and says why")]
mod attacks;
#[expect(dead_code, reason = "it belongs to `it`, and little of it is needed here")]
#[path = "../it/desk.rs"]
mod desk;
mod inside;
mod kills;
mod uses;
