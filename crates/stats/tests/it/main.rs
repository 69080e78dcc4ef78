//! Tests of the statistics as a caller sees them: worked figures, invariances, and error rates by simulation.

mod exact;
mod false_alarms;
mod invariance;
mod orders;
mod outliers;
mod runs;
mod tables;
