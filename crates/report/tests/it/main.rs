//! Reports of journals made by hand, in every format; the published figures; how often a comparison errs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop where it stands")]
#![expect(clippy::print_stdout, reason = "rates that were measured are worth seeing")]

mod cases;
mod chance;
mod compared;
mod consistent;
mod courses;
mod fleets;
mod formats;
mod journals;
mod pictures;
mod published;
mod shown;
