//! Loads that need services of the system, as a user meets them: the real Apache, PHP and MariaDB, in folders of their own.
//! With CI=true a service that is missing is a failure.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed, and says why")]
#[expect(dead_code, reason = "it belongs to `it`, and little of it is needed here")]
#[path = "../it/desk.rs"]
mod desk;
mod shop;
