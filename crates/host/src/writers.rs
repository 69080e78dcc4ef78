//! Who else writes to what is watched: files by fanotify, network devices by what ethtool's family tells everybody; and what
//! the kernel reports of devices.
//!
//! Both are polled with everything else, and who it was is looked up the moment it is heard: a program that writes and
//! ends is gone within milliseconds. What we write ourselves is left out by the numbers of our processes.
mod cards;
mod devices;
mod files;
mod hand;

use std::os::fd::OwnedFd;

use powerband_machine::{CoalescingPlace, DEVICES, Unwatched, Written};
use powerband_record::Writer;

use cards::Cards;
use devices::Devices;
use files::Files;

/// What is watched, and what was heard and not told yet.
#[derive(Default)]
pub(crate) struct Writers {
    files: Option<Files>,
    cards: Option<Cards>,
    devices: Option<Devices>,
    heard: Heard,
}

/// Who is not a stranger.
pub(crate) struct Ours {
    /// Processes whose writes are our own.
    pub(crate) own: Vec<u32>,
    /// Loads that run, leaders of their sessions.
    pub(crate) loads: Vec<u32>,
}

impl Ours {
    /// Whether a process is a load, or in the session of one.
    fn is_load(&self, pid: u32) -> bool {
        self.loads.contains(&pid) || hand::session(pid).is_some_and(|session| self.loads.contains(&session))
    }
}

/// Writes in the order in which they were heard, each place and writer once.
#[derive(Default)]
pub(super) struct Heard(Vec<(Written, u64)>);

impl Heard {
    /// Somebody has written. One that has ended since it was heard first is known by then.
    fn note(&mut self, place: &str, by: &Writer, by_load: bool) {
        let named = |known: &Writer| by.pid.is_some() && known.pid == by.pid && known.program.is_some();
        let known = self.0.iter().map(|(known, _)| &known.by).find(|known| by.program.is_none() && named(known));
        let by = &known.cloned().unwrap_or_else(|| by.clone());
        if !self.0.iter().any(|(known, _)| known.place == place && known.by == *by) {
            let written = Written { place: place.to_owned(), ago_ns: 0, by: by.clone(), by_load };
            self.0.push((written, crate::now_ns()));
        }
    }
}

impl Writers {
    /// From now on these places; what was heard of others stays to be told.
    pub(crate) fn watch(&mut self, places: &[String]) -> Result<(), Unwatched> {
        let (devices, places): (Vec<&String>, Vec<&String>) = places.iter().partition(|place| *place == DEVICES);
        let (cards, files): (Vec<&String>, Vec<&String>) =
            places.into_iter().partition(|place| CoalescingPlace::of(place).is_some());
        let of_devices = if devices.is_empty() { Ok(()) } else { self.watch_devices() };
        let of_cards = if cards.is_empty() { Ok(()) } else { self.watch_cards(&cards) };
        let of_files = if files.is_empty() { Ok(()) } else { self.watch_files(&files) };
        let why: Vec<String> = [of_files, of_cards, of_devices].into_iter().filter_map(Result::err).collect();
        if why.is_empty() { Ok(()) } else { Err(Unwatched { why: why.join("; ") }) }
    }

    fn watch_files(&mut self, places: &[&String]) -> Result<(), String> {
        if self.files.is_none() {
            self.files = Some(Files::new().map_err(files::in_words)?);
        }
        self.files.as_mut().map_or(Ok(()), |files| files.aim(places))
    }

    fn watch_cards(&mut self, places: &[&String]) -> Result<(), String> {
        if self.cards.is_none() {
            self.cards = Some(Cards::new().map_err(cards::in_words)?);
        }
        if let Some(cards) = &mut self.cards {
            cards.aim(places);
        }
        Ok(())
    }

    fn watch_devices(&mut self) -> Result<(), String> {
        if self.devices.is_none() {
            self.devices = Some(Devices::new().map_err(devices::in_words)?);
        }
        Ok(())
    }

    /// What to poll.
    pub(crate) fn fds(&self) -> impl Iterator<Item = &OwnedFd> {
        let others = self.cards.iter().map(Cards::fd).chain(self.files.iter().flat_map(Files::fds));
        others.chain(self.devices.iter().flat_map(Devices::fds))
    }

    /// Takes what has come; answers whether that is anything new.
    pub(crate) fn listen(&mut self, ours: &Ours) -> bool {
        let known = self.heard.0.len();
        // Cards first: anyone who turned one is likely to end right after, and nothing but its life tells who it was.
        if let Some(cards) = &mut self.cards {
            cards.listen(ours, &mut self.heard);
        }
        if let Some(files) = &mut self.files {
            files.listen(ours, &mut self.heard);
        }
        if let Some(devices) = &mut self.devices {
            devices.listen(&mut self.heard);
        }
        self.heard.0.len() > known
    }

    /// Tells what was heard, and looks for files that came or were replaced meanwhile.
    pub(crate) fn take(&mut self, ours: &Ours) -> Vec<Written> {
        self.listen(ours);
        if let Some(files) = &mut self.files {
            files.look_again(&mut self.heard);
        }
        let now_ns = crate::now_ns();
        let told = |(written, at_ns): (Written, u64)| Written { ago_ns: now_ns - at_ns, ..written };
        std::mem::take(&mut self.heard.0).into_iter().map(told).collect()
    }
}

#[cfg(test)]
mod tests;
