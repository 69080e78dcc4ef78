//! The hands on a machine: the owner's, which faults may stay, and those of strangers and of the kernel.
use powerband_machine::{Action, EntryId, Errno, Hold, Rule};
use powerband_sim::{Board, Interference, OwnerStep};
use powerband_stats::Draws;

use super::{Blunder, Fault, Faults, Hand, LoggedWrite, Step, Strike, pick};

/// A refusal with the words that go with it.
type Refusal = (Errno, Option<String>);

/// Why a write is refused.
const REFUSALS: [Errno; 4] = [Errno::EBUSY, Errno::EINVAL, Errno::EIO, Errno::ENODEV];

/// Writes that a lasting refusal refuses.
const FOR_GOOD: u32 = u32::MAX;

impl Interference for Faults {
    /// What strikes strikes now.
    fn meet(&self, board: &mut Board, step: OwnerStep) -> Result<(), Errno> {
        self.change_late(board);
        match self.next(Step::On(step)) {
            Strike::Nothing => Ok(()),
            Strike::Dead(_) => Err(Errno::EIO),
            Strike::Fault(fault, mut stream) => self.suffer(board, fault, &mut stream),
        }
    }

    fn announced(&self, action: &Action) {
        let Some(place) = place(action) else { return };
        let mut state = self.0.borrow_mut();
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

    fn perform(&self, board: &mut Board, action: &Action, undoes: Option<(EntryId, Hold)>) -> Result<(), Refusal> {
        let (step, hand) = match undoes {
            None => (OwnerStep::Perform, Hand::Act),
            Some((entry, hold)) => {
                self.undoes(entry);
                (OwnerStep::TakeBack, Hand::Undo { entry, hold })
            }
        };
        self.change_late(board);
        let mut clamped = None;
        let mut late = None;
        match self.next(Step::On(step)) {
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
                        Fault::RefusedOften => 2 + stream.below(3) as u32,
                        _ => FOR_GOOD,
                    };
                    let errno = *pick(&mut stream, &REFUSALS);
                    // What a file shows is a value it takes.
                    let shown = matches!(action, Action::WriteFile { path, text }
                        if shows(board, path).as_deref() == Some(text.trim_end()));
                    let refusal = (if shown && errno == Errno::EINVAL { Errno::EBUSY } else { errno }, writes);
                    self.0.borrow_mut().refusing.insert(place.to_owned(), refusal);
                    self.struck(fault);
                }
            }
            Strike::Fault(fault, mut stream) => {
                let _around = self.suffer(board, fault, &mut stream);
            }
        }
        if let Some(errno) = place(action).and_then(|place| self.refusal(place)) {
            return Err((errno, None));
        }
        match late {
            Some((Fault::RefusedInPart, mut stream)) if takes_parts(action) => {
                let part = part_of(board, action, &mut stream);
                self.write_as(board, hand, &part)?;
                self.struck(Fault::RefusedInPart);
                return Err((Errno::EINVAL, None));
            }
            late => {
                self.write_as(board, hand, action)?;
                if late.is_some() {
                    self.struck(Fault::RefusedTooLate);
                    return Err((Errno::EIO, None));
                }
            }
        }
        if let (Some(mut stream), Action::WriteFile { path, .. }) = (clamped, action)
            && let Some(text) = another_value(board, path, &mut stream)
        {
            let due_ns = board.now_ns() + 1_000_000 * (1 + stream.below(30));
            self.0.borrow_mut().late.push((due_ns, path.clone(), text));
        }
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.ended().is_some()
    }

    fn breaks(&self, rule: Rule) -> bool {
        self.blunder(Blunder::Breaks(rule))
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

    /// Does an action by a hand, and writes down what it did to a file.
    fn write_as(&self, board: &mut Board, hand: Hand, action: &Action) -> Result<(), Refusal> {
        let (path, text) = match action {
            Action::WriteFile { path, text } | Action::ReplaceFile { path, text } => {
                (path, Some(text.trim_end().to_owned()))
            }
            Action::RemoveFile { path } => (path, None),
            _ => return board.perform(action),
        };
        let was = shows(board, path);
        board.perform(action)?;
        let reads = shows(board, path);
        let mut state = self.0.borrow_mut();
        let step = state.step;
        state.written.push(LoggedWrite { step, hand, path: path.clone(), was, text, reads });
        Ok(())
    }

    /// Values that a late hand changes, if their time has come.
    fn change_late(&self, board: &mut Board) {
        if self.0.borrow().late.is_empty() {
            return;
        }
        let now_ns = board.now_ns();
        let late = std::mem::take(&mut self.0.borrow_mut().late);
        let (due, later): (Vec<_>, Vec<_>) = late.into_iter().partition(|(at_ns, ..)| *at_ns <= now_ns);
        self.0.borrow_mut().late = later;
        for (_, path, text) in due {
            if self.write_as(board, Hand::Kernel, &Action::WriteFile { path, text }).is_ok() {
                self.struck(Fault::ClampedLate);
            }
        }
    }

    /// Something strikes around the owner; the error is what the owner meets itself.
    fn suffer(&self, board: &mut Board, fault: Fault, stream: &mut Draws) -> Result<(), Errno> {
        let struck = match fault {
            Fault::Unreadable | Fault::SpawnRefused => {
                self.struck(fault);
                return Err(*pick(stream, &[Errno::EIO, Errno::ENODEV]));
            }
            Fault::Foreign => self.another_hand(board, stream),
            Fault::Vanished => self.vanish(board, stream),
            Fault::Offline => switch_cpu(board, false, stream),
            Fault::Online => switch_cpu(board, true, stream),
            Fault::LoadDied => kill_one(board, stream),
            _ => false,
        };
        if struck {
            self.struck(fault);
        }
        Ok(())
    }

    /// Another program writes another value: mostly where the owner has turned something.
    fn another_hand(&self, board: &mut Board, stream: &mut Draws) -> bool {
        let turned = self.0.borrow().turned.clone();
        let path = if turned.is_empty() || stream.below(4) == 0 {
            let all = board.settable();
            pick(stream, &all).clone()
        } else {
            pick(stream, &turned).clone()
        };
        let Some(text) = another_value(board, &path, stream) else { return false };
        self.write_as(board, Hand::Stranger, &Action::WriteFile { path, text }).is_ok()
    }

    /// Another program removes an ordinary file.
    fn vanish(&self, board: &mut Board, stream: &mut Draws) -> bool {
        let files = board.ordinary_files();
        if files.is_empty() {
            return false;
        }
        let path = pick(stream, &files).clone();
        self.write_as(board, Hand::Stranger, &Action::RemoveFile { path }).is_ok()
    }
}

/// What of a write is stored before it is refused: half of an ordinary file's text, another number of the kernel's.
fn part_of(board: &mut Board, action: &Action, stream: &mut Draws) -> Action {
    let Action::WriteFile { path, text } = action else { return action.clone() };
    let text = match another_value(board, path, stream) {
        Some(other) if path.starts_with("/proc/") => other,
        _ => text.chars().take(text.chars().count() / 2).collect(),
    };
    Action::WriteFile { path: path.clone(), text }
}

fn shows(board: &mut Board, path: &str) -> Option<String> {
    board.read(path).ok().map(|text| text.trim_end().to_owned())
}

/// Takes a CPU out of service or back; the first one stays.
fn switch_cpu(board: &mut Board, online: bool, stream: &mut Draws) -> bool {
    let mut cpus = board.cpus_online(!online);
    cpus.retain(|cpu| *cpu != 0);
    if cpus.is_empty() {
        return false;
    }
    board.switch(*pick(stream, &cpus), online);
    true
}

fn kill_one(board: &mut Board, stream: &mut Draws) -> bool {
    let running = board.running();
    if running.is_empty() {
        return false;
    }
    board.end(*pick(stream, &running), true);
    true
}

/// Another value that a file takes, if it shows one; a guess where only the kernel knows.
fn another_value(board: &mut Board, path: &str, stream: &mut Draws) -> Option<String> {
    let now = shows(board, path)?;
    let (folder, name) = path.rsplit_once('/')?;
    let offered = match name {
        "scaling_governor" => "scaling_available_governors",
        "scaling_min_freq" | "scaling_max_freq" | "scaling_setspeed" => "scaling_available_frequencies",
        _ => "",
    };
    if !offered.is_empty() {
        let offered = shows(board, &format!("{folder}/{offered}"))?;
        let others: Vec<&str> = offered.split_whitespace().filter(|word| *word != now).collect();
        return if others.is_empty() { None } else { Some((*pick(stream, &others)).to_owned()) };
    }
    if !path.starts_with("/proc/") && !path.starts_with("/sys/") {
        return Some(format!("another hand {}\n", stream.below(1_000)));
    }
    let number: i64 = now.parse().ok()?;
    let step = 1 + i64::try_from(stream.below(5)).unwrap_or(0);
    Some((if number > 1 { number - step.min(number - 1) } else { number + 1 }).to_string())
}
