//! Report pages in a browser: Chromium, driven by the modules of `tests/page`, opens them from files without a network.
//! What the command prints as JSON is held against its schemas by a validator of that world.
//! With CI=true a browser or a module that is missing is a failure.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed, and says why")]
mod browser;
#[expect(dead_code, reason = "it belongs to `it`, and little of it is needed here")]
#[path = "../it/desk.rs"]
mod desk;
mod made_up;
mod schemas;
