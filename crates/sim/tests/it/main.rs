//! Tests of the simulated machine through its public interface, in one binary.
#[cfg(test)]
mod cpufreq;
