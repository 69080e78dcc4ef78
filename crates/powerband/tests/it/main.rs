//! The command as a user meets it: the real binary, its words, its JSON, its exit codes, and the state it leaves behind.
//!
//! Each test has a state folder of its own. Tests of the machine itself need root; without it they are skipped, and
//! with CI=true they fail.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed, and stands outside the World it looks at"
)]
mod awaited;
mod broken;
mod cabled;
mod calibrated;
mod called;
mod chance;
mod coalesced;
mod commands;
mod compare;
mod confirmed;
mod cooled;
mod counted;
mod counter;
mod coursed;
mod declared;
mod desk;
mod displaced;
mod doctor;
mod documented;
#[cfg(feature = "png")]
mod drawn;
mod driven;
mod elsewhere;
mod entered;
mod explained;
mod figured;
mod full;
mod fuzzed;
mod guarded;
mod hooks;
mod hostile;
mod interrupted;
mod journals;
mod kconfig;
mod killed;
mod leavings;
mod left_running;
mod locked;
mod metered;
mod metered_truth;
mod mistakes;
mod moded;
mod mounted;
mod paged;
mod pages;
mod paper;
mod peers;
mod pictured;
mod places;
mod probed;
mod ranks;
mod recorded;
mod repeated;
mod replicated;
mod required;
mod resumed;
mod rigged;
mod rights;
mod router;
mod screen;
mod shelled;
mod simulated;
mod told;
mod trusted;
mod tuned;
mod undone;
mod unguarded;
mod unrestored;
mod variants;
mod wakeful;
mod watched;
mod whole;
mod withheld;
mod witnessed;
