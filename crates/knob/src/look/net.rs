//! Network devices as `info` shows them: driver, link, interrupt coalescing.
use std::collections::BTreeMap;

use powerband_machine::{Errno, ErrorRecorder, Look, PARAMETERS};
use powerband_sysfs::net;
use serde::Serialize;

use super::seen::{ReadFailure, Seen};

/// Network devices of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Devices {
    /// Each of them, in the kernel's order.
    pub devices: Vec<NetDevice>,
    /// What could not be read.
    pub unread: Vec<ReadFailure>,
}

/// One network device. What the kernel does not say is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct NetDevice {
    /// Its name.
    pub name: String,
    /// Driver of its hardware; none for devices that have no hardware.
    pub driver: Option<String>,
    /// `up`, `down`, `unknown` and so on.
    pub state: Option<String>,
    /// Whether there is a link.
    pub carrier: Option<bool>,
    /// Speed of the link, Mbit/s; absent while there is no link.
    pub speed_mbit: Option<u64>,
    /// `full` or `half`.
    pub duplex: Option<String>,
    /// Longest packet, bytes.
    pub mtu_bytes: Option<u32>,
    /// Every parameter of coalescing by its name for `ethtool -C` (`-usecs` is us, switches are 0 and 1), null where the
    /// driver has none.
    pub coalescing: BTreeMap<&'static str, Option<u32>>,
    /// Why it has no coalescing at all.
    pub no_coalescing: Option<String>,
}

/// Looks at the devices of the network namespace.
pub fn devices(machine: &mut dyn Look) -> Devices {
    let mut error_recorder = ErrorRecorder::new(machine);
    let names = net::devices(&mut error_recorder);
    let mut unread = error_recorder.into_failures();
    let mut seen = Seen::new(machine);
    let devices = names.into_iter().map(|name| device(&mut seen, name)).collect();
    unread.extend(seen.unread);
    Devices { devices, unread }
}

fn device(seen: &mut Seen<'_>, name: String) -> NetDevice {
    let file = |file: &str| net::file(&name, file);
    let driver = seen.text(&net::event(&name)).and_then(|text| net::driver_in(&text));
    let state = seen.text(&file("operstate"));
    let mtu_bytes = seen.parsed(&file("mtu"));
    // A device that is down, or has no link, answers EINVAL.
    let mut link = |name: &str| match seen.machine.read(&file(name)) {
        Err(Errno::EINVAL | Errno::EOPNOTSUPP) => None,
        _ => seen.text(&file(name)),
    };
    let (carrier, speed, duplex) = (link("carrier"), link("speed"), link("duplex"));
    let (has, no_coalescing) = match seen.machine.coalescing(&name) {
        Ok(has) => (has, None),
        Err(errno) => (powerband_machine::Coalescing::default(), Some(errno.to_string())),
    };
    let all = PARAMETERS.iter().map(|parameter| (parameter.name, has.get(parameter.name)));
    NetDevice {
        driver,
        state,
        carrier: carrier.map(|text| text == "1"),
        // -1 is a speed that is not known.
        speed_mbit: speed.and_then(|text| text.parse().ok()),
        duplex: duplex.filter(|word| word != "unknown"),
        mtu_bytes,
        coalescing: if no_coalescing.is_none() { all.collect() } else { BTreeMap::new() },
        no_coalescing,
        name,
    }
}
