//! Ctrl-C, SIGTERM and SIGHUP while a fleet is waited for.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How often a stop was asked for. From its making on these signals do not end the process by themselves.
#[derive(Clone, Debug)]
pub struct Stops(Arc<AtomicUsize>);

impl Stops {
    /// Begins to listen.
    ///
    /// # Errors
    /// The system's.
    pub fn listen() -> std::io::Result<Stops> {
        let (stops, mut signals) = (Stops(Arc::default()), Signals::new([SIGINT, SIGTERM, SIGHUP])?);
        let count = Arc::clone(&stops.0);
        std::thread::spawn(move || {
            for _ in signals.forever() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Ok(stops)
    }

    /// Whether one came.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }

    /// Whether another one came: nobody wants to wait.
    #[must_use]
    pub fn asked_again(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 1
    }
}
