//! A race.
fn main() {}
