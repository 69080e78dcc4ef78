//! The cpufreq subsystem: worked decisions, texts of files, random writes.
mod bench;
mod boot;
mod closed_loop;
mod ondemand;
mod random;
mod sampling;
mod schedutil;
mod story;
