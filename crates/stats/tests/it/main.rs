//! Tests of the statistics as a caller sees them: worked figures, invariances, and error rates by simulation.

#![expect(clippy::unwrap_used, reason = "what is shared between tests stands outside a test function")]
#![expect(clippy::print_stdout, reason = "measured rates are worth reading when a test fails")]

mod apart;
mod beginnings;
mod calibrated;
mod exact;
mod false_alarms;
mod fleet_statistics;
mod invariance;
mod knees;
mod machine_time;
mod machines;
mod margins;
mod naive;
mod orders;
mod outliers;
mod paths;
mod power;
mod ranks;
mod runs;
mod tables;
mod unequal;
mod unequal_same;
mod unnamed;
