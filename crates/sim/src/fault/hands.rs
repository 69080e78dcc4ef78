//! The hands on a machine: the owner's, which faults may stay, and those of strangers and of the kernel.
use powerband_machine::{Action, EntryId, Errno, Hold, Turn};
use rand_chacha::ChaCha8Rng;
use rand_core::Rng as _;

use super::{Fault, Faults, Hand, LoggedWrite, Step, Strike, below, pick};
use crate::board::Board;

/// Why a write is refused.
const REFUSALS: [Errno; 4] = [Errno::EBUSY, Errno::EINVAL, Errno::EIO, Errno::ENODEV];

/// Writes that a lasting refusal refuses.
const FOR_GOOD: u32 = u32::MAX;

/// A refusal with the words that go with it.
pub(crate) type Refusal = (Errno, Option<String>);

/// A board with what may go wrong on it.
pub(crate) struct Hands<'a> {
    pub(crate) board: &'a mut Board,
    pub(crate) faults: Option<&'a Faults>,
}

impl Hands<'_> {
    /// One step of the owner; what strikes strikes now. The error is what the owner gets for an answer.
    pub(crate) fn meet(&mut self, step: Step) -> Result<(), Errno> {
        let Some(faults) = self.faults else { return Ok(()) };
        self.board.change_late(faults);
        match faults.next(step) {
            Strike::Nothing => Ok(()),
            Strike::Dead(_) => Err(Errno::EIO),
            Strike::Fault(fault, mut stream) => self.board.suffer(faults, fault, &mut stream),
        }
    }

    /// Reads as the owner.
    pub(crate) fn read(&mut self, path: &str, step: Step) -> Result<String, Errno> {
        self.meet(step)?;
        self.board.read(path)
    }

    /// Notes what the owner is about to announce.
    pub(crate) fn note_intent(&mut self, action: &Action) {
        let (Some(faults), Some(place)) = (self.faults, place(action)) else { return };
        let mut state = faults.0.borrow_mut();
        if state.ended.is_some() {
            return;
        }
        if !state.turned.iter().any(|known| known == place) {
            state.turned.push(place.to_owned());
        }
        let text = match action {
            Action::WriteFile { text, .. } => Some(text.trim_end().to_owned()),
            _ => None,
        };
        let (step, path) = (state.step, place.to_owned());
        state.written.push(LoggedWrite { step, hand: Hand::Intent, path, was: None, text, reads: None });
    }

    /// Turns as the owner.
    pub(crate) fn act(&mut self, turn: &Turn) -> Result<(), Refusal> {
        self.perform(&turn.action, Step::Perform, Hand::Act)
    }

    /// Takes back as the owner.
    pub(crate) fn take_back(&mut self, action: &Action, entry: EntryId, hold: Hold) -> Result<(), Refusal> {
        if let Some(faults) = self.faults {
            faults.undoes(entry);
        }
        self.perform(action, Step::TakeBack, Hand::Undo { entry, hold })
    }

    fn perform(&mut self, action: &Action, step: Step, hand: Hand) -> Result<(), Refusal> {
        let Some(faults) = self.faults else { return self.board.perform(action) };
        self.board.change_late(faults);
        let mut clamped = None;
        let mut late = None;
        match faults.next(step) {
            Strike::Nothing => {}
            Strike::Dead(_) => return Err((Errno::EIO, None)),
            Strike::Fault(Fault::ClampedLate, stream) => clamped = Some(stream),
            Strike::Fault(fault @ (Fault::RefusedInPart | Fault::RefusedTooLate), stream) => {
                late = Some((fault, stream))
            }
            Strike::Fault(fault @ (Fault::RefusedOnce | Fault::RefusedOften | Fault::RefusedLasting), mut stream) => {
                if let Some(place) = place(action) {
                    let writes = match fault {
                        Fault::RefusedOnce => 1,
                        Fault::RefusedOften => 2 + below(&mut stream, 3) as u32,
                        _ => FOR_GOOD,
                    };
                    let errno = *pick(&mut stream, &REFUSALS);
                    // What a file shows is a value it takes.
                    let shown = matches!(action, Action::WriteFile { path, text }
                        if self.board.shows(path).as_deref() == Some(text.trim_end()));
                    let refusal = (if shown && errno == Errno::EINVAL { Errno::EBUSY } else { errno }, writes);
                    faults.0.borrow_mut().refusing.insert(place.to_owned(), refusal);
                    faults.struck(fault);
                }
            }
            Strike::Fault(fault, mut stream) => {
                let _around = self.board.suffer(faults, fault, &mut stream);
            }
        }
        if let Some(errno) = place(action).and_then(|place| faults.refusal(place)) {
            return Err((errno, None));
        }
        match late {
            Some((Fault::RefusedInPart, mut stream)) if takes_parts(action) => {
                let part = self.board.part_of(action, &mut stream);
                self.board.write_as(faults, hand, &part)?;
                faults.struck(Fault::RefusedInPart);
                return Err((Errno::EINVAL, None));
            }
            late => {
                self.board.write_as(faults, hand, action)?;
                if late.is_some() {
                    faults.struck(Fault::RefusedTooLate);
                    return Err((Errno::EIO, None));
                }
            }
        }
        if let (Some(mut stream), Action::WriteFile { path, .. }) = (clamped, action)
            && let Some(text) = self.board.another_value(path, &mut stream)
        {
            let due_ns = self.board.now_ns + 1_000_000 * (1 + below(&mut stream, 30));
            faults.0.borrow_mut().late.push((due_ns, path.clone(), text));
        }
        Ok(())
    }
}

/// Whether it writes where a part of what was written may be stored: a sysctl of several numbers, an ordinary file.
fn takes_parts(action: &Action) -> bool {
    matches!(action, Action::WriteFile { path, .. } if !path.starts_with("/sys/"))
}

/// The file or group an action is about.
fn place(action: &Action) -> Option<&str> {
    match action {
        Action::WriteFile { path, .. } | Action::ReplaceFile { path, .. } | Action::RemoveFile { path } => Some(path),
        Action::MakeGroup { group, .. } | Action::RemoveGroup { group } => Some(group),
        _ => None,
    }
}

impl Faults {
    /// The owner is about to undo an entry, which is its next step.
    fn undoes(&self, entry: EntryId) {
        let mut state = self.0.borrow_mut();
        if state.ended.is_none() {
            let step = state.step + 1;
            state.undos.push((step, entry));
        }
    }

    /// Whether this place refuses the write that is about to be.
    fn refusal(&self, place: &str) -> Option<Errno> {
        let mut state = self.0.borrow_mut();
        let (errno, left) = state.refusing.get_mut(place)?;
        let errno = *errno;
        if *left != FOR_GOOD {
            *left -= 1;
            if *left == 0 {
                state.refusing.remove(place);
            }
        }
        Some(errno)
    }
}

impl Board {
    /// Does an action by a hand, and writes down what it did to a file.
    fn write_as(&mut self, faults: &Faults, hand: Hand, action: &Action) -> Result<(), Refusal> {
        let (path, text) = match action {
            Action::WriteFile { path, text } | Action::ReplaceFile { path, text } => {
                (path, Some(text.trim_end().to_owned()))
            }
            Action::RemoveFile { path } => (path, None),
            _ => return self.perform(action),
        };
        let was = self.shows(path);
        self.perform(action)?;
        let reads = self.shows(path);
        let mut state = faults.0.borrow_mut();
        let step = state.step;
        state.written.push(LoggedWrite { step, hand, path: path.clone(), was, text, reads });
        Ok(())
    }

    /// What of a write is stored before it is refused: half of an ordinary file's text, another number of the kernel's.
    fn part_of(&mut self, action: &Action, stream: &mut ChaCha8Rng) -> Action {
        let Action::WriteFile { path, text } = action else { return action.clone() };
        let text = match self.another_value(path, stream) {
            Some(other) if path.starts_with("/proc/") => other,
            _ => text.chars().take(text.chars().count() / 2).collect(),
        };
        Action::WriteFile { path: path.clone(), text }
    }

    fn shows(&mut self, path: &str) -> Option<String> {
        self.read(path).ok().map(|text| text.trim_end().to_owned())
    }

    /// Values that a late hand changes, if their time has come.
    pub(crate) fn change_late(&mut self, faults: &Faults) {
        if faults.0.borrow().late.is_empty() {
            return;
        }
        let now_ns = self.now_ns;
        let late = std::mem::take(&mut faults.0.borrow_mut().late);
        let (due, later): (Vec<_>, Vec<_>) = late.into_iter().partition(|(at_ns, ..)| *at_ns <= now_ns);
        faults.0.borrow_mut().late = later;
        for (_, path, text) in due {
            if self.write_as(faults, Hand::Kernel, &Action::WriteFile { path, text }).is_ok() {
                faults.struck(Fault::ClampedLate);
            }
        }
    }

    /// Something strikes around the owner; the error is what the owner meets itself.
    fn suffer(&mut self, faults: &Faults, fault: Fault, stream: &mut ChaCha8Rng) -> Result<(), Errno> {
        let struck = match fault {
            Fault::Unreadable | Fault::SpawnRefused => {
                faults.struck(fault);
                return Err(*pick(stream, &[Errno::EIO, Errno::ENODEV]));
            }
            Fault::Foreign => self.another_hand(faults, stream),
            Fault::Vanished => self.vanish(faults, stream),
            Fault::Offline => self.switch_cpu(false, stream),
            Fault::Online => self.switch_cpu(true, stream),
            Fault::LoadDied => self.kill_one(stream),
            _ => false,
        };
        if struck {
            faults.struck(fault);
        }
        Ok(())
    }

    /// Another program writes another value: mostly where the owner has turned something.
    fn another_hand(&mut self, faults: &Faults, stream: &mut ChaCha8Rng) -> bool {
        let turned = faults.0.borrow().turned.clone();
        let path = if turned.is_empty() || below(stream, 4) == 0 {
            let all = self.settable();
            pick(stream, &all).clone()
        } else {
            pick(stream, &turned).clone()
        };
        let Some(text) = self.another_value(&path, stream) else { return false };
        self.write_as(faults, Hand::Stranger, &Action::WriteFile { path, text }).is_ok()
    }

    /// Another program removes an ordinary file.
    fn vanish(&mut self, faults: &Faults, stream: &mut ChaCha8Rng) -> bool {
        let files = self.ordinary_files();
        if files.is_empty() {
            return false;
        }
        let path = pick(stream, &files).clone();
        self.write_as(faults, Hand::Stranger, &Action::RemoveFile { path }).is_ok()
    }

    /// Takes a CPU out of service or back; the first one stays.
    fn switch_cpu(&mut self, online: bool, stream: &mut ChaCha8Rng) -> bool {
        let cpus: Vec<u32> = (1_u32..)
            .zip(self.cpus.iter().skip(1))
            .filter(|(_, cpu)| cpu.online != online)
            .map(|(cpu, _)| cpu)
            .collect();
        if cpus.is_empty() {
            return false;
        }
        let cpu = *pick(stream, &cpus);
        self.set_online(cpu, online);
        self.follow_cpufreq();
        true
    }

    fn kill_one(&mut self, stream: &mut ChaCha8Rng) -> bool {
        let running = self.running();
        if running.is_empty() {
            return false;
        }
        self.end(*pick(stream, &running), true);
        true
    }

    /// Another value that a file takes, if it shows one; a guess where only the kernel knows.
    fn another_value(&mut self, path: &str, stream: &mut ChaCha8Rng) -> Option<String> {
        let now = self.shows(path)?;
        let (folder, name) = path.rsplit_once('/')?;
        let offered = match name {
            "scaling_governor" => "scaling_available_governors",
            "scaling_min_freq" | "scaling_max_freq" | "scaling_setspeed" => "scaling_available_frequencies",
            _ => "",
        };
        if !offered.is_empty() {
            let offered = self.shows(&format!("{folder}/{offered}"))?;
            let others: Vec<&str> = offered.split_whitespace().filter(|word| *word != now).collect();
            return if others.is_empty() { None } else { Some((*pick(stream, &others)).to_owned()) };
        }
        if !path.starts_with("/proc/") && !path.starts_with("/sys/") {
            return Some(format!("another hand {}\n", stream.next_u64() % 1_000));
        }
        let number: i64 = now.parse().ok()?;
        let step = 1 + i64::try_from(below(stream, 5)).unwrap_or(0);
        Some((if number > 1 { number - step.min(number - 1) } else { number + 1 }).to_string())
    }
}
