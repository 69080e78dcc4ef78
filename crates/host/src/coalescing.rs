//! Interrupt coalescing of network devices: ethtool's family of generic netlink, and its ioctl on kernels without that.
use std::os::fd::AsFd;

use powerband_machine::{Coalescing, Errno, PARAMETERS, Parameter};
use powerband_record::IntoOrdered as _;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::netlink::{Attributes, Family, Refused, attributes};
use crate::refusal::Refusal;
use crate::{errno, io_errno};

/// The family's name, its two requests, and the attributes that name a device (linux/ethtool_netlink.h).
const FAMILY: &str = "ethtool";
const GET: u8 = 19;
const SET: u8 = 20;
const HEADER: u16 = 1;
const DEVICE_NAME: u16 = 2;

/// The ioctl's two requests (linux/ethtool.h).
const IOCTL_GET: u32 = 0x0e;
const IOCTL_SET: u32 = 0x0f;

/// The ioctl's request for one queue of a device: itself, what is asked of the queue, a mask of queues, and the answer.
const IOCTL_OF_QUEUE: u32 = 0x4b;
const MAX_QUEUES: usize = 4096;
const BEFORE_ANSWER: usize = 2 + MAX_QUEUES / 32;

/// `struct ethtool_coalesce`: the request, then the parameters in the order of their attributes.
type Words = [u32; WORDS];
const WORDS: usize = 23;

/// What a device's driver has.
pub(crate) fn get(device: &str) -> Result<Coalescing, Errno> {
    let answer = match Family::find(FAMILY) {
        Ok(family) => get_by_netlink(&family, device).map_err(|refused| refused.errno),
        Err(errno) => Err(errno),
    };
    match answer {
        Err(errno) if lacks_netlink(errno) => get_by_ioctl(device),
        answer => answer,
    }
}

/// Sets some of them, all in one request and all or none: the kernel calls a driver once for a mode and once for values,
/// so a refusal of the second may come after the first was taken.
pub(crate) fn set(device: &str, values: &Coalescing) -> Result<(), Refusal> {
    let before = get(device);
    let result = set_at_once(device, values);
    if let (Err(_), Ok(before), Ok(now)) = (&result, before, get(device)) {
        let changed = before.0.into_iter().filter(|(name, value)| now.get(name) != Some(*value));
        let back = Coalescing(changed.collect());
        if !back.0.is_empty() {
            // What fails here too is told by the refusal that came first.
            let _told = set_at_once(device, &back);
        }
    }
    result
}

fn set_at_once(device: &str, values: &Coalescing) -> Result<(), Refusal> {
    let refused = match Family::find(FAMILY) {
        Ok(family) => set_by_netlink(&family, device, values).err(),
        Err(errno) => Some(errno.into()),
    };
    match refused {
        None => Ok(()),
        Some(refused) if lacks_netlink(refused.errno) && refused.message.is_none() => Ok(set_by_ioctl(device, values)?),
        Some(refused) => Err(in_words(refused)),
    }
}

/// Whether an answer may mean that the kernel is too old for this by netlink: before 5.6 there is no such family (and
/// some kernels have no generic netlink), 5.6 has it without coalescing.
fn lacks_netlink(errno: Errno) -> bool {
    const EPROTONOSUPPORT: Errno = Errno(93);
    const EAFNOSUPPORT: Errno = Errno(97);
    matches!(errno, Errno::ENOENT | Errno::EOPNOTSUPP | EPROTONOSUPPORT | EAFNOSUPPORT)
}

fn in_words(refused: Refused) -> Refusal {
    let parameter = PARAMETERS.iter().find(|parameter| Some(parameter.attribute) == refused.attribute);
    let words = match (refused.message, parameter) {
        (Some(message), Some(parameter)) => Some(format!("{message}: {}", parameter.name)),
        (message, _) => message,
    };
    Refusal { errno: refused.errno, words }
}

fn for_device(device: &str) -> Attributes {
    let mut header = Attributes::default();
    header.add_text(DEVICE_NAME, device);
    let mut asked = Attributes::default();
    asked.add_nested(HEADER, &header);
    asked
}

fn get_by_netlink(family: &Family, device: &str) -> Result<Coalescing, Refused> {
    let reply = family.ask(GET, &for_device(device))?.ok_or(Errno::EIO)?;
    // The reply carries exactly what the driver has.
    Ok(values_in(&reply))
}

/// The parameters among a message's attributes.
fn values_in(message: &[u8]) -> Coalescing {
    let read = attributes(message).filter_map(|(kind, value)| {
        let parameter = PARAMETERS.iter().find(|parameter| parameter.attribute == kind)?;
        let value = match *value {
            [byte] => u32::from(byte),
            _ => u32::from_ne_bytes(value.try_into().ok()?),
        };
        Some((parameter.name.to_owned(), value))
    });
    Coalescing(read.collect())
}

/// The device a notification is about, and what it has now.
pub(crate) fn told(message: &[u8]) -> Option<(String, Coalescing)> {
    let header = attributes(message).find(|(kind, _)| *kind == HEADER)?.1;
    let name = attributes(header).find(|(kind, _)| *kind == DEVICE_NAME)?.1.strip_suffix(b"\0")?;
    Some((std::str::from_utf8(name).ok()?.to_owned(), values_in(message)))
}

fn set_by_netlink(family: &Family, device: &str, values: &Coalescing) -> Result<(), Refused> {
    let mut asked = for_device(device);
    for (name, &value) in &values.0 {
        let parameter = Parameter::named(name).ok_or(Errno::EINVAL)?;
        match u8::try_from(value) {
            Ok(byte) if parameter.switch => asked.add(parameter.attribute, &[byte]),
            _ => asked.add(parameter.attribute, &value.to_ne_bytes()),
        }
    }
    family.ask(SET, &asked).map(drop)
}

/// Where a parameter stands in [`Words`]; the newer ones do not.
fn place_of(parameter: &Parameter) -> Option<usize> {
    Some(usize::from(parameter.attribute) - 1).filter(|&place| place < WORDS)
}

fn ioctl<const N: usize>(device: &str, words: &mut [u32; N]) -> Result<(), Errno> {
    let (family, kind, flags) = (AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family, kind, flags, None).map_err(errno)?;
    crate::raw::ethtool(socket.as_fd(), device, words).map_err(|error| io_errno(&error))
}

/// Refuses a device whose queues have different values. A request for the whole device would overwrite what `ethtool -Q` gave one
/// of them, which the answer for the whole device does not show, so that nothing could restore it.
pub(crate) fn check_queues(device: &str) -> Result<(), Refusal> {
    check_alike(device, (0..MAX_QUEUES).map_while(|queue| of_queue(device, queue).ok()).map(|words| held(&words)))
}

/// The same, of what each queue has.
pub(crate) fn check_alike(device: &str, queues: impl Iterator<Item = Coalescing>) -> Result<(), Refusal> {
    let Some(queue) = differing_queue(queues) else { return Ok(()) };
    let words = format!(
        "queue {queue} of {device} has other values than queue 0 (ethtool -Q), and powerband could not restore them after \
         setting the whole device"
    );
    Err(Refusal { errno: Errno::EOPNOTSUPP, words: Some(words) })
}

/// What one queue has; an error of a driver that has no such thing, and for a queue that is not there.
fn of_queue(device: &str, queue: usize) -> Result<Words, Errno> {
    let mut request = [0_u32; BEFORE_ANSWER + WORDS];
    (request[0], request[1]) = (IOCTL_OF_QUEUE, IOCTL_GET);
    request[2 + queue / 32] = 1 << (queue % 32);
    ioctl(device, &mut request)?;
    request[BEFORE_ANSWER..].try_into().map_err(|_| Errno::EIO)
}

/// The first queue that has other values than the first one. Times and frames are the driver's own while it adapts them.
fn differing_queue(queues: impl Iterator<Item = Coalescing>) -> Option<usize> {
    let chosen = |mut values: Coalescing| {
        for (switch, of) in [("adaptive-rx", ["rx-usecs", "rx-frames"]), ("adaptive-tx", ["tx-usecs", "tx-frames"])] {
            if values.get(switch).is_some_and(|on| on != 0) {
                values.0.retain(|name, _| !of.contains(&name.as_str()));
            }
        }
        values
    };
    let mut queues = queues.map(chosen);
    let first = queues.next()?;
    queues.position(|values| values != first).map(|after_first| after_first + 1)
}

fn words_of(device: &str) -> Result<Words, Errno> {
    let mut words = Words::default();
    words[0] = IOCTL_GET;
    ioctl(device, &mut words).map(|()| words)
}

/// Everything the old form holds: it does not say what the driver lacks, which then reads 0 and is refused.
fn get_by_ioctl(device: &str) -> Result<Coalescing, Errno> {
    words_of(device).map(|words| held(&words))
}

fn held(words: &Words) -> Coalescing {
    let held = PARAMETERS.iter().filter_map(|parameter| Some((parameter.name.to_owned(), words[place_of(parameter)?])));
    Coalescing(held.into_map())
}

fn set_by_ioctl(device: &str, values: &Coalescing) -> Result<(), Errno> {
    let mut words = words_of(device)?;
    for (name, &value) in &values.0 {
        let place = Parameter::named(name).and_then(place_of).ok_or(Errno::EOPNOTSUPP)?;
        words[place] = value;
    }
    words[0] = IOCTL_SET;
    ioctl(device, &mut words)
}

#[cfg(test)]
mod tests;
