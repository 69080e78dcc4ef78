//! `nic.*`: interrupt coalescing of network devices, one knob for each name of `ethtool -C`.
use powerband_machine::{Action, Change, Coalescing, CoalescingPlace, Errno, Look, Parameter};
use powerband_sysfs::{net, text};

use crate::knob::Turning;
use crate::value::parse_number;
use crate::{About, Knob, KnobError, Landed, Phase, Scope, Selection, Site, Sites, Value};

/// What every name begins with.
const FAMILY: &str = "nic.";

/// How long a card that was turned may take to carry packets as before, ns: many drivers reset it.
const SETTLES_NS: u64 = 3_000_000_000;

/// One parameter of interrupt coalescing.
#[derive(Clone, Copy, Debug)]
pub struct Nic {
    about: &'static About,
}

/// A number of `unit`.
const fn number(name: &'static str, unit: &'static str, summary: &'static str) -> About {
    About { name, short: parameter(name), unit, summary, accepts: "a whole number from 0 up", ..ABOUT }
}

/// On or off.
const fn switch(name: &'static str, summary: &'static str) -> About {
    About { name, short: parameter(name), summary, accepts: "on, off", ..ABOUT }
}

/// The name without its family.
const fn parameter(name: &'static str) -> &'static str {
    name.split_at(FAMILY.len()).1
}

const ABOUT: About = About {
    name: FAMILY,
    short: FAMILY,
    aliases: &[],
    unit: "",
    scope: Scope::Device,
    summary: "",
    doc: "Has the name of `ethtool -C`. Each driver has some of these parameters and accepts some of their values; the value \
          in effect is read back. Several parameters of one device are set in one request. While the driver adapts \
          automatically (adaptive-rx, adaptive-tx), the fixed values of that direction have no effect; setting one switches \
          the adaptation off, and both are restored. Some drivers take the link down briefly.",
    accepts: "",
    needs: "a network device whose driver can coalesce; loopback, bridges and veth cannot",
    source: "Linux include/uapi/linux/ethtool_netlink.h, Documentation/networking/ethtool-netlink.rst; ethtool(8)",
    invalid: "the driver does not accept this value; `powerband info net --probe` finds those it accepts",
    phase: Phase::Nic,
};

pub(super) const RX_USECS: Nic = Nic {
    about: &About {
        accepts: "a whole number from 0 up; to e1000 and e1000e 0 (off), 1, 3 (automatic) and 4 are modes",
        ..number("nic.rx-usecs", "us", "longest delay between a received packet and its interrupt")
    },
};
pub(super) const RX_FRAMES: Nic =
    Nic { about: &number("nic.rx-frames", "", "number of received packets per interrupt") };
pub(super) const RX_USECS_IRQ: Nic =
    Nic { about: &number("nic.rx-usecs-irq", "us", "rx-usecs while the host serves an interrupt of the NIC") };
pub(super) const RX_FRAMES_IRQ: Nic =
    Nic { about: &number("nic.rx-frames-irq", "", "rx-frames while the host serves an interrupt of the NIC") };
pub(super) const TX_USECS: Nic =
    Nic { about: &number("nic.tx-usecs", "us", "longest delay between a sent packet and its interrupt") };
pub(super) const TX_FRAMES: Nic = Nic { about: &number("nic.tx-frames", "", "number of sent packets per interrupt") };
pub(super) const TX_USECS_IRQ: Nic =
    Nic { about: &number("nic.tx-usecs-irq", "us", "tx-usecs while the host serves an interrupt of the NIC") };
pub(super) const TX_FRAMES_IRQ: Nic =
    Nic { about: &number("nic.tx-frames-irq", "", "tx-frames while the host serves an interrupt of the NIC") };
pub(super) const STATS_BLOCK_USECS: Nic =
    Nic { about: &number("nic.stats-block-usecs", "us", "how often the NIC writes its statistics to memory") };
pub(super) const ADAPTIVE_RX: Nic =
    Nic { about: &switch("nic.adaptive-rx", "whether the driver adapts the delay of received packets") };
pub(super) const ADAPTIVE_TX: Nic =
    Nic { about: &switch("nic.adaptive-tx", "whether the driver adapts the delay of sent packets") };
pub(super) const PKT_RATE_LOW: Nic =
    Nic { about: &number("nic.pkt-rate-low", "packets/s", "packet rate below which the low values apply") };
pub(super) const RX_USECS_LOW: Nic = Nic { about: &number("nic.rx-usecs-low", "us", "rx-usecs at low packet rates") };
pub(super) const RX_FRAMES_LOW: Nic = Nic { about: &number("nic.rx-frames-low", "", "rx-frames at low packet rates") };
pub(super) const TX_USECS_LOW: Nic = Nic { about: &number("nic.tx-usecs-low", "us", "tx-usecs at low packet rates") };
pub(super) const TX_FRAMES_LOW: Nic = Nic { about: &number("nic.tx-frames-low", "", "tx-frames at low packet rates") };
pub(super) const PKT_RATE_HIGH: Nic =
    Nic { about: &number("nic.pkt-rate-high", "packets/s", "packet rate above which the high values apply") };
pub(super) const RX_USECS_HIGH: Nic =
    Nic { about: &number("nic.rx-usecs-high", "us", "rx-usecs at high packet rates") };
pub(super) const RX_FRAMES_HIGH: Nic =
    Nic { about: &number("nic.rx-frames-high", "", "rx-frames at high packet rates") };
pub(super) const TX_USECS_HIGH: Nic =
    Nic { about: &number("nic.tx-usecs-high", "us", "tx-usecs at high packet rates") };
pub(super) const TX_FRAMES_HIGH: Nic =
    Nic { about: &number("nic.tx-frames-high", "", "tx-frames at high packet rates") };
pub(super) const SAMPLE_INTERVAL: Nic =
    Nic { about: &number("nic.sample-interval", "s", "how often the driver checks the packet rate") };
pub(super) const CQE_MODE_TX: Nic =
    Nic { about: &switch("nic.cqe-mode-tx", "whether each sent packet restarts the wait of tx-usecs") };
pub(super) const CQE_MODE_RX: Nic =
    Nic { about: &switch("nic.cqe-mode-rx", "whether each received packet restarts the wait of rx-usecs") };
pub(super) const TX_AGGR_MAX_BYTES: Nic =
    Nic { about: &number("nic.tx-aggr-max-bytes", "bytes", "most bytes sent as one block") };
pub(super) const TX_AGGR_MAX_FRAMES: Nic =
    Nic { about: &number("nic.tx-aggr-max-frames", "", "most packets sent as one block") };
pub(super) const TX_AGGR_TIME_USECS: Nic = Nic {
    about: &number("nic.tx-aggr-time-usecs", "us", "longest time a packet waits for others, to be sent as one block"),
};

/// The switch that takes a knob out of force while it is on.
pub(crate) fn overridden_by(knob: &str) -> Option<&'static Nic> {
    match knob.strip_prefix(FAMILY)? {
        "rx-usecs" | "rx-frames" => Some(&ADAPTIVE_RX),
        "tx-usecs" | "tx-frames" => Some(&ADAPTIVE_TX),
        _ => None,
    }
}

/// Whether a device's link is up.
pub(crate) fn has_carrier(machine: &mut dyn Look, device: &str) -> bool {
    text(machine, &net::file(device, "carrier")).is_some_and(|text| text == "1")
}

/// The reason why a knob of a network device is absent behind a shell.
const UNASKED: &str = "drivers of network devices cannot be asked through a shell without ethtool; install ethtool there, or use ssh: or cmd:";

impl Nic {
    fn site(&self, device: &str) -> Site {
        let place = CoalescingPlace { device, names: vec![self.about.short] };
        Site { name: device.to_owned(), path: Some(place.to_string()), policy: None }
    }

    /// The devices whose drivers have it.
    fn everywhere(&self, name: &str, machine: &mut dyn Look) -> Result<Sites, KnobError> {
        let (mut sites, mut others) = (Vec::new(), Vec::new());
        for device in &net::devices(machine) {
            match machine.coalescing(device) {
                Ok(has) if has.get(self.about.short).is_some() => sites.push(self.site(device)),
                Ok(has) => others.push(format!("that of {device} has {}", listed(&has))),
                Err(Errno::EOPNOTSUPP) => others.push(format!("that of {device} coalesces nothing")),
                Err(Errno::ENOSYS) => return Err(KnobError::absent(name, UNASKED)),
                Err(errno) => others.push(format!("{device} answers {errno}")),
            }
        }
        match (sites.is_empty(), others.is_empty()) {
            (false, _) => Ok(Sites { sites, ..Sites::default() }),
            (true, true) => Err(KnobError::absent(name, "there is no network device".to_owned())),
            (true, false) => {
                let why = format!("no driver of a network device has it ({})", others.join(", "));
                Err(KnobError::absent(name, why))
            }
        }
    }
}

/// Whether a driver that accepted a number has ignored it: nothing has moved, and what reads there is no rounding of it. stmmac does so
/// with its receive timer where it has none, and with 0 (Linux 6.1 `__stmmac_set_coalesce`).
pub(crate) fn ignores(asked: u32, before: u32, reads: u32) -> bool {
    reads == before && asked.abs_diff(reads) > asked.max(reads) / 2
}

fn listed(has: &Coalescing) -> String {
    let names: Vec<&str> = has.0.keys().map(String::as_str).collect();
    if names.is_empty() { "none of these parameters".into() } else { names.join(", ") }
}

impl Knob for Nic {
    fn about(&self) -> &'static About {
        self.about
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        let Some(device) = at.site.as_deref().filter(|site| *site != "-") else {
            return self.everywhere(name, machine);
        };
        match machine.coalescing(device) {
            Ok(has) if has.get(self.about.short).is_some() => {
                Ok(Sites { sites: vec![self.site(device)], ..Sites::default() })
            }
            Ok(has) => {
                let why = format!("the driver of {device} does not have it; it has {}", listed(&has));
                Err(KnobError::absent(name, why))
            }
            Err(Errno::ENODEV | Errno::EINVAL | Errno::ERANGE) => {
                let there = self.everywhere(name, machine)?.sites.into_iter().map(|site| site.name).collect();
                Err(KnobError::NoSite { knob: name.into(), site: device.into(), there })
            }
            Err(Errno::EOPNOTSUPP) => Err(KnobError::absent(name, format!("the driver of {device} coalesces nothing"))),
            Err(Errno::ENOSYS) => Err(KnobError::absent(name, UNASKED)),
            Err(errno) => Err(KnobError::absent(name, format!("{device} answers {errno}"))),
        }
    }

    fn parse(&self, name: &str, text: &str, _machine: &mut dyn Look, _site: &Site) -> Result<Value, KnobError> {
        if !self.is_switch() {
            let number = parse_number(text, 0, u64::from(u32::MAX), self.about.unit);
            return number.map(Value::Number).map_err(|why| KnobError::value(name, why));
        }
        match text.trim().to_lowercase().as_str() {
            word @ ("on" | "off") => Ok(Value::Word(word.into())),
            other => Err(KnobError::value(name, format!("'{other}' is not a value of it; write on or off"))),
        }
    }

    fn choices(&self, _machine: &mut dyn Look, _site: &Site) -> Vec<Value> {
        let words: &[&str] = if self.is_switch() { &["off", "on"] } else { &[] };
        words.iter().map(|word| Value::Word((*word).into())).collect()
    }

    fn skips_when_equal(&self) -> bool {
        true
    }

    fn settles_ns(&self) -> u64 {
        SETTLES_NS
    }

    fn ignored(&self, asked: &Value, before: &str, reads: &str) -> bool {
        let number = |text: &str| text.trim().parse().ok();
        let all = (number(&asked.typed()), number(before), number(reads));
        matches!(all, (Some(asked), Some(before), Some(reads)) if ignores(asked, before, reads))
    }

    fn landed_elsewhere(&self, reads: &str) -> Landed {
        if self.is_switch() {
            Landed::ReadsOther { reads: reads.to_owned() }
        } else {
            Landed::Clamped { to: reads.to_owned() }
        }
    }

    fn stands_for(&self, reads: &str, machine: &mut dyn Look, site: &Site) -> Option<String> {
        let number: u32 = reads.trim().parse().ok().filter(|_| self.about.short == "rx-usecs")?;
        let driver = net::driver_in(&machine.read(&net::event(&site.name)).ok()?)?;
        let mode = match (driver.as_str(), number) {
            ("e1000" | "e1000e" | "igb", 0) => "off, an interrupt for everything that arrives",
            ("e1000" | "e1000e" | "igb", 1) => "dynamic, up to 70000 interrupts a second",
            ("e1000" | "e1000e" | "igb", 3) => "dynamic, up to 20000 interrupts a second",
            ("e1000" | "e1000e", 4) => "simplified, 2000 to 8000 interrupts a second",
            // Linux 6.12 drivers/net/ethernet/intel/ixgbe/ixgbe_ethtool.c, ixgbe_set_coalesce.
            ("ixgbe", 1) => "dynamic, it adapts to what arrives",
            _ => return None,
        };
        Some(format!("a mode of {driver}: {mode}"))
    }

    fn turn(&self, value: &Value, machine: &mut dyn Change, site: &Site) -> Result<Turning, Errno> {
        let parameter = Parameter::named(self.about.short).ok_or(Errno::EINVAL)?;
        let before = machine.coalescing(&site.name)?.get(parameter.name);
        let set = |value: u32| Action::Coalesce {
            device: site.name.clone(),
            values: Coalescing([(parameter.name.to_owned(), value)].into()),
        };
        Ok(Turning {
            action: set(parameter.parse(&value.typed()).ok_or(Errno::EINVAL)?),
            // What a driver does not show it does not have, and the kernel will refuse.
            undo: Some(set(before.unwrap_or(0))),
            before: before.map(|before| parameter.typed(before)),
        })
    }
}

impl Nic {
    fn is_switch(&self) -> bool {
        Parameter::named(self.about.short).is_some_and(|parameter| parameter.switch)
    }
}
