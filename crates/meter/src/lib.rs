//! Something you can read while work runs.
