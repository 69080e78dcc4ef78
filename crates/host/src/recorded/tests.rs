//! Recorded machines, whole and broken.
