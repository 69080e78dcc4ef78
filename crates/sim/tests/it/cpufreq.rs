//! The cpufreq subsystem: worked decisions, texts of files, random writes.
mod bench;
mod boost;
mod closed_loop;
mod conservative;
mod events;
mod files;
mod hotplug;
mod limits;
mod ondemand;
mod random;
mod sampling;
mod schedutil;
