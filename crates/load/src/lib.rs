//! What makes the machine work.
