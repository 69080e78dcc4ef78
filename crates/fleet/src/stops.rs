//! Ctrl-C, SIGTERM and SIGHUP while a fleet is waited for.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Whether a stop was asked for. From its making on these signals do not end the process by themselves.
#[derive(Clone, Debug)]
pub struct Stops(Arc<AtomicBool>);

impl Stops {
    /// Begins to listen.
    ///
    /// # Errors
    /// The system's.
    pub fn listen() -> std::io::Result<Stops> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(Stops(flag))
    }

    /// Whether one came.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
