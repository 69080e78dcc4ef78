//! Times and rates of the real machine, which neighbours disturb: one test at a time. Everything else is in `it`.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed, and says why")]
mod compared;
#[expect(dead_code, reason = "it belongs to `it`, and little of it is needed here")]
#[path = "../it/desk.rs"]
mod desk;
mod silent;
