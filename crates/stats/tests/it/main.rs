//! Tests of the statistics as a caller sees them: worked figures, invariances, recorded results, and error rates in short.

#![expect(clippy::unwrap_used, reason = "what is shared between tests stands outside a test function")]

mod beginnings;
mod calibrated;
mod chance;
mod exact;
mod invariance;
mod knees;
mod orders;
mod outliers;
mod recorded;
mod tables;
