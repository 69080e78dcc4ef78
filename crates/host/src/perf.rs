//! Counters of the kernel's perf: what a device's files say of an event, and the open counter.
use std::os::fd::OwnedFd;

use powerband_machine::{Errno, PerfPlace};

use crate::{errno, io_errno};

/// An open counter.
#[derive(Debug)]
pub(crate) struct Counter(OwnedFd);

impl Counter {
    /// Opens one; it counts from now on.
    pub(crate) fn open(place: PerfPlace<'_>) -> Result<Counter, Errno> {
        let mut buffer = Vec::new();
        let mut text = |file: &str| crate::files::read(file, &mut buffer);
        let device_type = text(&format!("{}/type", place.folder()))?.trim().parse().map_err(|_| Errno::EINVAL)?;
        let event = text(&place.file())?;
        let config = configure(&event, &mut |term| text(&format!("{}/format/{term}", place.folder())))?;
        let cpu = i32::try_from(place.cpu).map_err(|_| Errno::ENODEV)?;
        crate::raw::perf_counter(device_type, config, cpu).map(Counter).map_err(|error| io_errno(&error))
    }

    /// The count.
    pub(crate) fn read(&self) -> Result<String, Errno> {
        let mut bytes = [0; 8];
        match rustix::io::read(&self.0, &mut bytes).map_err(errno)? {
            8 => Ok(format!("{}\n", u64::from_ne_bytes(bytes))),
            // Nothing is told by an event that lost its place on the CPU.
            _ => Err(Errno::ENODEV),
        }
    }
}

/// The three words that ask for an event: `event=0x3c,umask=0x1` by the device's formats, as `config:0-7`.
fn configure(event: &str, format: &mut dyn FnMut(&str) -> Result<String, Errno>) -> Result<[u64; 3], Errno> {
    let mut words = [0; 3];
    for term in event.trim().split(',') {
        let (name, value) = term.split_once('=').unwrap_or((term, "1"));
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => value.parse(),
        };
        let mut rest = value.map_err(|_| Errno::EINVAL)?;
        let format = format(name)?;
        let (word, ranges) = format.trim().split_once(':').ok_or(Errno::EINVAL)?;
        let word = match word {
            "config" => &mut words[0],
            "config1" => &mut words[1],
            "config2" => &mut words[2],
            _ => return Err(Errno::EINVAL),
        };
        // The value's lowest bits go to the first range.
        for range in ranges.split(',') {
            let (low, high) = bits(range).ok_or(Errno::EINVAL)?;
            for bit in low..=high {
                *word |= (rest & 1) << bit;
                rest >>= 1;
            }
        }
        if rest != 0 {
            return Err(Errno::ERANGE);
        }
    }
    Ok(words)
}

/// `0-7` or `21`, within a word.
fn bits(range: &str) -> Option<(u32, u32)> {
    let (low, high) = range.split_once('-').unwrap_or((range, range));
    let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
    (low <= high && high < u64::BITS).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(event: &str) -> Result<[u64; 3], Errno> {
        configure(event, &mut |term| match term {
            "event" => Ok("config:0-7,32-35\n".into()),
            "umask" => Ok("config:8-15\n".into()),
            "edge" => Ok("config:18\n".into()),
            "ldlat" => Ok("config1:0-15\n".into()),
            "whole" => Ok("config2:0-63\n".into()),
            "odd" => Ok("config:7-0\n".into()),
            "beyond" => Ok("config:60-64\n".into()),
            "other" => Ok("attr5:0-7\n".into()),
            _ => Err(Errno::ENOENT),
        })
    }

    #[test]
    fn terms_go_where_the_formats_say() {
        for (event, words) in [
            ("event=0x02\n", [2, 0, 0]),
            ("event=0x7a3,umask=0x0f", [0x0007_0000_0fa3, 0, 0]),
            ("edge,event=1,ldlat=3", [1 << 18 | 1, 3, 0]),
            ("whole=0xffffffffffffffff", [0, 0, u64::MAX]),
        ] {
            assert_eq!(asked(event), Ok(words), "{event}");
        }
        for (why, events) in [
            (Errno::ERANGE, &["event=0x1000", "edge=2"][..]),
            (Errno::ENOENT, &["", "unknown=1"]),
            (Errno::EINVAL, &["event=?", "odd=1", "beyond=1", "other=1"]),
        ] {
            assert!(events.iter().all(|event| asked(event) == Err(why)), "{events:?}");
        }
    }
}
