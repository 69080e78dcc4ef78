//! A machine made of arithmetic: virtual time, seeded, with the kernel's cpufreq core and governors.
pub mod cpufreq;
