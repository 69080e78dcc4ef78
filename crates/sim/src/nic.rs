//! A network card: its driver's rules of interrupt coalescing, and when it interrupts for what arrives.
//!
//! e1000e throttles: at least so long lies between two interrupts of the card, those for packets it has sent included. An
//! exchange therefore takes no less than that: its request starts the time, its answer waits for the end of it. How long
//! it is in the driver's own modes follows from the traffic (`throttle.rs`).
//! i40e throttles by a time for either direction (`interval.rs`).
//! stmmac waits: a received frame is kept back for so long after the first one that nobody was told of.
use std::collections::BTreeMap;

use powerband_machine::{Coalescing, Errno};
use powerband_record::IntoOrdered as _;

use crate::noise::fnv1a;

mod interval;
mod throttle;

use interval::Interval;
use throttle::Throttle;

/// Device of the cable.
pub(crate) const DEVICE: &str = "eth0";

/// The speed at which e1000e's dynamic modes look at the traffic, Mbit/s.
const GIGABIT_MBIT_S: u64 = 1_000;

/// What ethtool's core says of a parameter that a driver lacks (Linux 6.1 net/ethtool/coalesce.c).
const UNSUPPORTED: &str = "cannot modify an unsupported parameter";

/// A driver, as a machine file names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// Intel's gigabit cards (Linux 6.1 drivers/net/ethernet/intel/e1000e).
    E1000e,
    /// Intel's cards of 10 to 40 Gbit/s (Linux 6.1 drivers/net/ethernet/intel/i40e).
    I40e,
    /// Synopsys' core in many ARM boards (Linux 6.1 drivers/net/ethernet/stmicro/stmmac).
    Stmmac(Stmmac),
}

/// What differs between versions of stmmac.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stmmac {
    /// Its bus clock, of which its timer counts 256 at a time, MHz.
    pub clock_mhz: u32,
    /// Fewest units of that timer it takes, of at most 255.
    pub least_units: u32,
    /// Units it starts with.
    pub default_units: u32,
    /// Time after which its own timer tells of what was sent, us, as it starts.
    pub tx_usecs: u32,
    /// Frames sent until an interrupt tells of them, as it starts.
    pub tx_frames: u32,
}

impl Stmmac {
    /// As in Linux 6.1.
    #[must_use]
    pub fn new(clock_mhz: u32) -> Stmmac {
        Stmmac { clock_mhz, least_units: 0x10, default_units: 0xa0, tx_usecs: 1_000, tx_frames: 25 }
    }

    /// What cannot be, by its key in machine files.
    pub(crate) fn fault(&self) -> Option<(&'static str, &'static str)> {
        if !(1..=MAX_RIWT).contains(&self.least_units) {
            return Some(("network.least_units", "must be 1 to 255"));
        }
        if !(self.least_units..=MAX_RIWT).contains(&self.default_units) {
            return Some(("network.default_units", "must be network.least_units to 255"));
        }
        if self.tx_usecs > MAX_TX_USECS || self.tx_frames > MAX_TX_FRAMES || (self.tx_usecs, self.tx_frames) == (0, 0) {
            return Some(("network.tx_usecs", "must be up to 100000 with up to 256 network.tx_frames, not both 0"));
        }
        None
    }
}

impl Driver {
    /// Its name in machine files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Driver::E1000e => "e1000e",
            Driver::I40e => "i40e",
            Driver::Stmmac(_) => "stmmac",
        }
    }
}

/// What the driver has been told.
#[derive(Clone, Copy, Debug)]
enum Settings {
    /// No driver that coalesces.
    Fixed,
    /// e1000e's.
    Throttle(Throttle),
    /// i40e's.
    Interval(Interval),
    /// Units of the receive timer, and what is counted.
    Watchdog { units: u32, rx_frames: u32, tx_usecs: u32, tx_frames: u32 },
}

/// One card.
#[derive(Debug)]
pub(crate) struct Nic {
    driver: Option<Driver>,
    settings: Settings,
    address: String,
    /// When the interrupt that is under way comes, and before when none may follow it, ns.
    due_ns: u64,
    free_ns: u64,
    /// Whether that interrupt has been served.
    served: bool,
    /// Frames handed over that no interrupt has told of.
    untold: u32,
    /// Packets that arrived and wait for an interrupt.
    pub(crate) waiting: u32,
    /// When the last of those is heard of, ns.
    pub(crate) heard_ns: u64,
    pub(crate) interrupts: u64,
    pub(crate) received: Traffic,
    pub(crate) sent: Traffic,
}

/// Frames and bytes since boot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

impl Traffic {
    fn count(&mut self, frames: u32, bytes: u64) {
        self.frames += u64::from(frames);
        self.bytes += bytes;
    }
}

/// stmmac: the most units of its timer, the clocks in one, and the most that may be told of late.
const MAX_RIWT: u32 = 0xff;
const RIWT_CLOCKS: u32 = 256;
const MAX_TX_USECS: u32 = 100_000;
const MAX_TX_FRAMES: u32 = 256;

impl Nic {
    /// The card of a machine, by whose name its address is made.
    pub(crate) fn new(driver: Option<Driver>, machine: &str, speed_mbit_s: u64) -> Self {
        let settings = match driver {
            None => Settings::Fixed,
            Some(Driver::E1000e) => Settings::Throttle(Throttle::new(speed_mbit_s == GIGABIT_MBIT_S)),
            Some(Driver::I40e) => Settings::Interval(Interval::new()),
            Some(Driver::Stmmac(stmmac)) => Settings::Watchdog {
                units: stmmac.default_units,
                rx_frames: 0,
                tx_usecs: stmmac.tx_usecs,
                tx_frames: stmmac.tx_frames,
            },
        };
        let hash = fnv1a(machine.as_bytes()).to_le_bytes();
        // Locally administered, so nobody's.
        let address = format!("02:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", hash[0], hash[1], hash[2], hash[3], hash[4]);
        Nic {
            driver,
            settings,
            address,
            due_ns: 0,
            free_ns: 0,
            served: true,
            untold: 0,
            waiting: 0,
            heard_ns: 0,
            interrupts: 0,
            received: Traffic::default(),
            sent: Traffic::default(),
        }
    }

    /// The driver's name, if it has one that coalesces.
    pub(crate) fn driver_name(&self) -> Option<&'static str> {
        self.driver.map(Driver::name)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// What `ethtool -c` shows.
    pub(crate) fn coalescing(&self) -> Result<Coalescing, Errno> {
        let values: &[(&str, u32)] = match self.settings {
            Settings::Fixed => return Err(Errno::EOPNOTSUPP),
            Settings::Throttle(throttle) => &[("rx-usecs", throttle.shown())],
            Settings::Interval(interval) => &[("rx-usecs", interval.rx_usecs), ("tx-usecs", interval.tx_usecs)],
            Settings::Watchdog { units, rx_frames, tx_usecs, tx_frames } => &[
                ("rx-usecs", units * RIWT_CLOCKS / self.clock_mhz()),
                ("rx-frames", rx_frames),
                ("tx-usecs", tx_usecs),
                ("tx-frames", tx_frames),
            ],
        };
        Ok(Coalescing(values.iter().map(|&(name, value)| (name.to_owned(), value)).collect()))
    }

    fn clock_mhz(&self) -> u32 {
        match self.driver {
            Some(Driver::Stmmac(stmmac)) => stmmac.clock_mhz,
            _ => 1,
        }
    }

    /// What `ethtool -C` does, with the kernel's words where it has some. What is refused changes nothing, but for stmmac:
    /// it has applied what it is told of receiving before it looks at what it is told of sending (Linux 6.1
    /// __stmmac_set_coalesce).
    pub(crate) fn coalesce(&mut self, values: &Coalescing, now_ns: u64) -> Result<(), (Errno, Option<String>)> {
        let has = self.coalescing().map_err(|errno| (errno, None))?;
        if let Some(name) = values.0.keys().find(|name| has.get(name).is_none()) {
            return Err((Errno::EINVAL, Some(format!("{UNSUPPORTED}: {name}"))));
        }
        let mut merged: BTreeMap<&str, u32> = has.0.iter().map(|(name, &value)| (name.as_str(), value)).into_map();
        merged.extend(values.0.iter().map(|(name, &value)| (name.as_str(), value)));
        if merged.iter().all(|(name, &value)| has.get(name) == Some(value)) {
            return Ok(());
        }
        let value = |name: &str| merged.get(name).copied().unwrap_or_default();
        let settings = match self.settings {
            Settings::Fixed => None,
            Settings::Throttle(throttle) => throttle.set(value("rx-usecs")).map(Settings::Throttle),
            Settings::Interval(_) => Interval::set(value("rx-usecs"), value("tx-usecs")).map(Settings::Interval),
            Settings::Watchdog { units, rx_frames, tx_usecs, tx_frames } => {
                let received = match value("rx-usecs") {
                    // Leaves what is received as it is, the frames too.
                    0 => Some((units, rx_frames)),
                    usecs => self.riwt(usecs).map(|units| (units, value("rx-frames"))),
                };
                let (units, rx_frames) = received.ok_or((Errno::EINVAL, None))?;
                self.settings = Settings::Watchdog { units, rx_frames, tx_usecs, tx_frames };
                let (tx_usecs, tx_frames) = (value("tx-usecs"), value("tx-frames"));
                let sendable =
                    (tx_usecs, tx_frames) != (0, 0) && tx_usecs <= MAX_TX_USECS && tx_frames <= MAX_TX_FRAMES;
                sendable.then_some(Settings::Watchdog { units, rx_frames, tx_usecs, tx_frames })
            }
        };
        self.settings = settings.ok_or((Errno::EINVAL, None))?;
        self.free_ns = now_ns;
        Ok(())
    }

    /// A time as units of the receive timer, if it can count them.
    fn riwt(&self, usecs: u32) -> Option<u32> {
        let units = u64::from(usecs) * u64::from(self.clock_mhz()) / u64::from(RIWT_CLOCKS);
        let least = if let Some(Driver::Stmmac(stmmac)) = self.driver { stmmac.least_units } else { 1 };
        u32::try_from(units).ok().filter(|units| (least..=MAX_RIWT).contains(units))
    }

    /// Frames go out.
    pub(crate) fn sends(&mut self, frames: u32, bytes: u64, now_ns: u64) {
        self.sent.count(frames, bytes);
        self.counted(1, frames, bytes, now_ns);
        match &mut self.settings {
            Settings::Fixed => self.interrupts += 1,
            Settings::Throttle(_) => drop(self.told(1, frames, bytes, now_ns)),
            Settings::Interval(interval) => self.interrupts += u64::from(interval.sent(now_ns)),
            // A timer of the driver's, which is no interrupt of the card, tells of the rest.
            Settings::Watchdog { tx_frames: 0, .. } => {}
            Settings::Watchdog { tx_frames, .. } => {
                self.untold += frames;
                self.interrupts += u64::from(self.untold / *tx_frames);
                self.untold %= *tx_frames;
            }
        }
    }

    /// How many interrupts would tell that so many more frames were sent. A throttled card tells of them with what it
    /// receives.
    pub(crate) fn completions(&self, frames: u32) -> u64 {
        match self.settings {
            Settings::Fixed => 1,
            Settings::Throttle(_) | Settings::Interval(_) | Settings::Watchdog { tx_frames: 0, .. } => 0,
            Settings::Watchdog { tx_frames, .. } => u64::from((self.untold + frames) / tx_frames),
        }
    }

    /// Frames come in; answers when the kernel hears of them, ns.
    pub(crate) fn receives(&mut self, frames: u32, bytes: u64, now_ns: u64) -> u64 {
        self.received.count(frames, bytes);
        self.counted(0, frames, bytes, now_ns);
        self.told(0, frames, bytes, now_ns)
    }

    /// Asks for an interrupt that tells of frames; answers when it comes.
    fn told(&mut self, way: usize, frames: u32, bytes: u64, now_ns: u64) -> u64 {
        let at_ns = self.raise(now_ns);
        if let Settings::Throttle(throttle) = &mut self.settings
            && at_ns == now_ns
        {
            throttle.told_at_once(way, frames, bytes);
        }
        at_ns
    }

    /// Lets the throttle know, after it has seen what the interrupt before brought.
    fn counted(&mut self, way: usize, frames: u32, bytes: u64, now_ns: u64) {
        let Settings::Throttle(throttle) = &mut self.settings else { return };
        if !self.served && self.due_ns <= now_ns {
            throttle.served();
            self.served = true;
        }
        throttle.count(way, frames, bytes, now_ns);
    }

    /// Asks for an interrupt; answers when it comes, which may be one that is under way.
    fn raise(&mut self, now_ns: u64) -> u64 {
        if self.due_ns > now_ns {
            return self.due_ns;
        }
        let at_ns = match self.settings {
            Settings::Throttle(throttle) => {
                let at_ns = self.free_ns.max(now_ns);
                self.free_ns = at_ns + throttle.gap_ns();
                at_ns
            }
            Settings::Interval(interval) => {
                let at_ns = self.free_ns.max(now_ns);
                self.free_ns = at_ns + interval.gap_ns();
                at_ns
            }
            Settings::Watchdog { units, rx_frames: 0, .. } => {
                now_ns + u64::from(units * RIWT_CLOCKS) * 1_000 / u64::from(self.clock_mhz())
            }
            Settings::Fixed | Settings::Watchdog { .. } => now_ns,
        };
        (self.due_ns, self.served) = (at_ns, false);
        self.interrupts += 1;
        at_ns
    }
}

#[cfg(test)]
mod tests;
