//! e1000e's interrupt throttle: a fixed rate, or what its modes make of the traffic (Linux 6.1
//! drivers/net/ethernet/intel/e1000e/netdev.c: `e1000_update_itr`, `e1000_set_itr`, `e1000_watchdog_task`).
use super::Traffic;

/// One default mode, and the bounds of a fixed interval, µs.
const DEFAULT: u32 = 3;
const MODES: u32 = 4;
const USECS: std::ops::RangeInclusive<u32> = 10..=10_000;

/// The dynamic modes' rates by class of traffic, interrupts a second.
const LOWEST_RATE: u32 = 70_000;
const LOW_RATE: u32 = 20_000;
const BULK_RATE: u32 = 4_000;

/// How often mode 4 looks at the traffic, ns, and the rates it chooses between.
const LOOKS_NS: u64 = 2_000_000_000;
const EVEN_RATE: u32 = 2_000;
const UNEVEN_RATE: u32 = 8_000;

/// Traffic the way the dynamic modes see it, the most patient last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Lowest,
    Low,
    Bulk,
}

/// A throttle as it is set and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Throttle {
    /// A mode up to 4, or interrupts a second.
    setting: u32,
    gigabit: bool,
    /// Interrupts a second at most; 0 for as many as come.
    rate: u32,
    classes: [Class; 2],
    /// Received and sent since the last interrupt.
    since_interrupt: [Traffic; 2],
    /// What of it comes after the interrupt that its first frame asked for.
    behind: [Traffic; 2],
    /// The same since mode 4 looked, and how often it could have by then.
    since_look: [Traffic; 2],
    looks: u64,
}

impl Throttle {
    /// As the driver comes up.
    pub(super) fn new(gigabit: bool) -> Self {
        let none = [Traffic::default(); 2];
        let classes = [Class::Low; 2];
        Throttle {
            setting: DEFAULT,
            gigabit,
            rate: LOW_RATE,
            classes,
            since_interrupt: none,
            behind: none,
            since_look: none,
            looks: 0,
        }
    }

    /// What `ethtool -c` shows for rx-usecs.
    pub(super) fn shown(&self) -> u32 {
        if self.setting <= MODES { self.setting } else { 1_000_000 / self.setting }
    }

    /// What `ethtool -C rx-usecs` does: a mode as it is, a time as interrupts a second in steps of four.
    pub(super) fn set(self, usecs: u32) -> Option<Throttle> {
        let (setting, rate) = match usecs {
            0 => (0, 0),
            2 => return None,
            4 => (4, UNEVEN_RATE),
            mode if mode < MODES => (mode, LOW_RATE),
            usecs if USECS.contains(&usecs) => ((1_000_000 / usecs) & !3, (1_000_000 / usecs) & !3),
            _ => return None,
        };
        Some(Throttle { setting, rate, ..Throttle::new(self.gigabit) })
    }

    /// Frames were received (0) or sent (1).
    pub(super) fn count(&mut self, way: usize, frames: u32, bytes: u64, now_ns: u64) {
        self.look(now_ns);
        self.since_interrupt[way].count(frames, bytes);
        self.since_look[way].count(frames, bytes);
    }

    /// Frames counted last that came at once: on the wire they follow one another, and the first alone is what the interrupt
    /// tells of.
    pub(super) fn told_at_once(&mut self, way: usize, frames: u32, bytes: u64) {
        let frames = frames.max(1);
        self.behind[way].count(frames - 1, bytes - bytes / u64::from(frames));
    }

    /// How long no other interrupt follows one now, ns.
    pub(super) fn gap_ns(&self) -> u64 {
        if self.rate == 0 { 0 } else { 1_000_000_000 / u64::from(self.rate) }
    }

    /// An interrupt has been served: the dynamic modes look at what it brought.
    pub(super) fn served(&mut self) {
        let behind = std::mem::take(&mut self.behind);
        let mut brought = std::mem::replace(&mut self.since_interrupt, behind);
        for (brought, behind) in brought.iter_mut().zip(behind) {
            (brought.frames, brought.bytes) = (brought.frames - behind.frames, brought.bytes - behind.bytes);
        }
        if self.setting != 1 && self.setting != 3 {
            return;
        }
        let wanted = if self.gigabit { self.classify(brought) } else { BULK_RATE };
        // Towards more interrupts it goes by steps.
        self.rate = if wanted > self.rate { wanted.min(self.rate + wanted / 4) } else { wanted };
    }

    fn classify(&mut self, brought: [Traffic; 2]) -> u32 {
        for (class, traffic) in self.classes.iter_mut().zip(brought) {
            *class = class.after(traffic);
            if self.setting == 3 {
                *class = (*class).max(Class::Low);
            }
        }
        match self.classes[0].max(self.classes[1]) {
            Class::Lowest => LOWEST_RATE,
            Class::Low => LOW_RATE,
            Class::Bulk => BULK_RATE,
        }
    }

    /// Mode 4 fits the rate to how uneven the two directions were in the last two seconds.
    fn look(&mut self, now_ns: u64) {
        let looks = now_ns / LOOKS_NS;
        if looks == self.looks {
            return;
        }
        let [received, sent] = std::mem::take(&mut self.since_look).map(|traffic| traffic.bytes);
        let seen = looks == self.looks + 1;
        self.looks = looks;
        if self.setting == MODES {
            let (both, apart) = ((received + sent) / 10_000, received.abs_diff(sent) / 10_000);
            self.rate = match both {
                0 => UNEVEN_RATE,
                _ if !seen => UNEVEN_RATE,
                both => u32::try_from(apart * 6_000 / both).unwrap_or(0) + EVEN_RATE,
            };
        }
    }
}

impl Class {
    /// What traffic makes of it.
    fn after(self, Traffic { frames, bytes }: Traffic) -> Class {
        let Some(each) = bytes.checked_div(frames) else { return self };
        match self {
            Class::Lowest if each > 8_000 => Class::Bulk,
            Class::Lowest if frames < 5 && bytes > 512 => Class::Low,
            Class::Low if bytes > 10_000 && (each > 1_200 || frames < 10) => Class::Bulk,
            Class::Low if bytes > 10_000 && frames > 35 => Class::Lowest,
            Class::Low if bytes <= 10_000 && each > 2_000 => Class::Bulk,
            Class::Low if frames <= 2 && bytes < 512 => Class::Lowest,
            Class::Bulk if bytes > 25_000 && frames > 35 => Class::Low,
            Class::Bulk if bytes < 6_000 => Class::Low,
            same => same,
        }
    }
}
