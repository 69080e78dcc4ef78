//! The one integration binary: what a simulated World does, seen from outside.
mod counter;
mod rig;
mod router;
