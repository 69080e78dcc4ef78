//! Reports of journals made by hand, as text and as JSON; the published figures; how often a comparison errs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop where it stands")]
#![expect(clippy::print_stdout, reason = "rates that were measured are worth seeing")]

mod brief;
mod chance;
mod consistent;
mod courses;
mod distributions;
mod fleets;
mod journals;
mod json;
mod page;
mod pictures;
mod plots;
mod progress;
mod published;
mod text;
mod timelines;

/// Compares with a file of `expected/`; what differs is printed whole, to look at and to take over.
fn same_as_expected(found: &str, name: &str, expected: &str) {
    assert!(found == expected, "not as in expected/{name}.txt:\n{found}");
}
