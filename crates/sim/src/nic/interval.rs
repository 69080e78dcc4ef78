//! i40e's interrupt throttle: at least so long lies between two interrupts for what is received, and between two for what
//! was sent (Linux 6.1 drivers/net/ethernet/intel/i40e: `__i40e_set_coalesce`). Its adaptive mode is not modelled.

/// As the driver comes up: 20 000 interrupts a second, µs.
const DEFAULT_USECS: u32 = 50;

/// The longest time it takes, and what it counts in, µs.
const MAX_USECS: u32 = 8_160;
const UNIT_USECS: u32 = 2;

/// The two times, and until when the one for what was sent runs, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) rx_usecs: u32,
    pub(super) tx_usecs: u32,
    sent_free_ns: u64,
}

impl Interval {
    pub(super) fn new() -> Self {
        Interval { rx_usecs: DEFAULT_USECS, tx_usecs: DEFAULT_USECS, sent_free_ns: 0 }
    }

    /// What `ethtool -C` does: odd times go up to the next even one.
    pub(super) fn set(rx_usecs: u32, tx_usecs: u32) -> Option<Self> {
        let fits = rx_usecs <= MAX_USECS && tx_usecs <= MAX_USECS;
        let even = |usecs: u32| usecs.next_multiple_of(UNIT_USECS);
        fits.then(|| Interval { rx_usecs: even(rx_usecs), tx_usecs: even(tx_usecs), sent_free_ns: 0 })
    }

    /// How long no other interrupt for what is received follows one, ns.
    pub(super) fn gap_ns(self) -> u64 {
        u64::from(self.rx_usecs) * 1_000
    }

    /// Something was sent; whether an interrupt of its own tells of it.
    pub(super) fn sent(&mut self, now_ns: u64) -> bool {
        let tells = now_ns >= self.sent_free_ns;
        if tells {
            self.sent_free_ns = now_ns + u64::from(self.tx_usecs) * 1_000;
        }
        tells
    }
}
