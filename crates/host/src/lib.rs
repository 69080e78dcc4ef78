//! This box: the crate that touches the machine's operating system.
