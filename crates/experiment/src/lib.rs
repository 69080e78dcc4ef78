//! Plan, run, journal: blocks, trials, the guard.
