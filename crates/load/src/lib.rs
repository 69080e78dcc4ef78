//! What makes the machine work.
pub mod inside;
