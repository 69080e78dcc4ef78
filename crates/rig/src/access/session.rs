//! One client of the access service: knobs and values come in, and are planned, checked and set here. What is set is held, is
//! restored in the reverse order only, and goes when the client does.
use std::path::Path;

use powerband_host::{Agent, HostWorld, Opened, Parting, Peer, remove_unused_folder};
use powerband_knob::{Applied, Target, Value, apply_steps, plan_asked, resolve, restore};
use powerband_machine::wire::{Call, Hello, Purpose, Refusal};
use powerband_machine::{Asked, EntryId, Hold, Machine, Undone, World as _};
use powerband_record::{CpuList, ErrorClass, Side, placed, seen};
use serde::Serialize;

use super::bucket::Bucket;
use super::{Granted, policy_of};
use crate::real::local_machine;
use crate::served::restore_held;
use crate::{LedgerLocation, Notes, RigError, leftovers, lock, state_folder};

/// Nothing that a client has to say is longer, bytes.
const MAX_FRAME: usize = 64 << 10;
/// So many settings may be in force at once, one over the other.
const MAX_SETTINGS: usize = 32;
/// So many knobs may be in one of them.
const MAX_KNOBS: usize = 200;
/// How many changes may be made at once …
const CHANGES: u64 = 100;
/// … and how long it takes to one more, ns.
const CHANGE_NS: u64 = 20_000_000;

/// Serves the client at standard input and output until it is gone, and restores what it set. `log` takes what is to be kept
/// of who set what.
///
/// # Errors
/// [`RigError`]: there is no client, or something could not be restored.
pub fn serve_client(policy: &Path, notes: &mut dyn Notes, log: &mut dyn FnMut(&str)) -> Result<(), RigError> {
    let peer = Peer::at_stdin().map_err(super::AccessError::from)?;
    let mut agent = Agent::at_socket(MAX_FRAME)?;
    let granted = policy_of(policy).map(|policy| policy.granted(peer.uid, &peer.groups));
    let opened = granted.map_err(RigError::from).and_then(|granted| Ok((granted, open(agent.hello(), &peer, notes)?)));
    let (granted, (lock, mut opened)) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            log(&format!("{}: refused: {error}", who(&peer)));
            let why = error.to_string();
            agent.refuse(Refusal { class: error.class(), why });
            return Ok(());
        }
    };
    let looks = agent.hello().purpose.only_looks();
    let (cpus, shares_network) = (peer.cpus(), peer.shares_network());
    let clock = |world: &HostWorld| world.now_ns();
    let changes = Bucket::new(CHANGES, CHANGE_NS, clock(&opened.world));
    let mut session = Session {
        peer,
        granted,
        cpus,
        shares_network,
        settings: Vec::new(),
        changes,
        refusals: Refusals::default(),
        log,
    };
    let parting =
        agent.serve_with(&mut opened, env!("CARGO_PKG_VERSION"), &mut |machine, call| session.answer(machine, call));
    if looks {
        return Ok(());
    }
    let restored = restore_held(&mut opened);
    session.say(&match &restored {
        Ok(()) => format!("gone ({}); everything is restored", words(&parting)),
        Err(error) => format!("gone ({}); {error}", words(&parting)),
    });
    drop(opened);
    if let Some(lock) = lock {
        remove_unused_folder(lock, None);
    }
    // Only now: a client that waits for our end finds everything restored, and the machine free.
    drop(agent);
    restored
}

fn words(parting: &Parting) -> String {
    match parting {
        Parting::Ended => "it ended".into(),
        other => other.to_string(),
    }
}

/// Who a client is, as the log has it.
pub(super) fn who(peer: &Peer) -> String {
    let uid = format!("uid {}", peer.uid);
    match powerband_host::user_name(peer.uid) {
        name if name == uid => format!("{uid} (process {})", peer.pid),
        name => format!("{name} ({uid}, process {})", peer.pid),
    }
}

/// The machine for a client; one that changes something has the lock for as long as it is connected.
fn open(hello: &Hello, peer: &Peer, notes: &mut dyn Notes) -> Result<(Option<powerband_host::Lock>, Opened), RigError> {
    let folder = state_folder()?;
    let looks = hello.purpose.only_looks();
    let doing = format!("setting knobs for {}: {}", powerband_host::user_name(peer.uid), seen(&hello.doing));
    let doing: String = doing.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let lock = if looks { None } else { Some(lock(&folder, &doing)?) };
    let purpose = if looks { Purpose::Look } else { Purpose::Measure };
    let mut world = HostWorld::new(local_machine(&folder, purpose)?).map_err(RigError::World)?;
    if !looks {
        leftovers::clear(&mut world, &[LedgerLocation::here(Side::Near, folder.clone())], notes)?;
    }
    Ok((lock, Opened { world, folder: folder.display().to_string(), held: None }))
}

/// A setting in force.
struct InForce {
    /// As the log has it.
    words: String,
    /// What takes it back, in the order of setting.
    entries: Vec<EntryId>,
}

/// So many refusals of one minute are said each …
const REFUSALS: u32 = 10;
/// … which is this long, ns.
const MINUTE_NS: u64 = 60_000_000_000;

/// Counts of refusals in this minute, said and unsaid: a client that is refused again and again fills no log.
#[derive(Default)]
struct Refusals {
    since_ns: u64,
    said: u32,
    unsaid: u32,
}

impl Refusals {
    /// The number passed over before this one; nothing where this one is passed over too.
    fn next(&mut self, now_ns: u64) -> Option<u32> {
        if now_ns.saturating_sub(self.since_ns) >= MINUTE_NS {
            (self.since_ns, self.said) = (now_ns, 0);
        }
        if self.said == REFUSALS {
            self.unsaid += 1;
            return None;
        }
        self.said += 1;
        Some(std::mem::take(&mut self.unsaid))
    }
}

/// What is known of a client.
struct Session<'a> {
    peer: Peer,
    granted: Granted,
    /// The CPUs it may run on.
    cpus: CpuList,
    shares_network: bool,
    /// The settings in force, in the order of setting.
    settings: Vec<InForce>,
    changes: Bucket,
    refusals: Refusals,
    log: &'a mut dyn FnMut(&str),
}

impl Session<'_> {
    /// Answers what a client may ask, and nothing else: it never names an action, a path or an entry of somebody else's.
    fn answer(&mut self, machine: &mut dyn Machine, call: Call) -> Option<serde_json::Value> {
        match call {
            Call::Allowed => value(self.granted.lines()),
            Call::Set(asked) => value(self.set(machine, &asked)),
            Call::Undo(entry, _) => value(Ok::<_, ()>(self.undo(machine, entry))),
            Call::OpenEntries => {
                let open = machine.open_entries().into_iter();
                value(open.filter(|entry| entry.turn.hold == Hold::Held).collect::<Vec<_>>())
            }
            Call::Unguarded => value(machine.unguarded()),
            _ => None,
        }
    }

    fn say(&mut self, words: &str) {
        let line: String = seen(words).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        (self.log)(&format!("{}: {line}", who(&self.peer)));
    }

    fn set(&mut self, machine: &mut dyn Machine, asked: &Asked) -> Result<serde_json::Value, Refusal> {
        let knobs = asked.knobs.iter().take(8).map(|asked| {
            let at = asked.site.as_ref().map(|site| format!("@{site}")).unwrap_or_default();
            format!("{}{at}={}", powerband_host::shortened(&asked.knob), powerband_host::shortened(&asked.value))
        });
        let more = if asked.knobs.len() > 8 { " …" } else { "" };
        let what = format!("{}{more}", knobs.collect::<Vec<_>>().join(" "));
        match self.set_unlogged(machine, asked, &what) {
            Ok(applied) => {
                let reads = applied.inexact().into_iter().filter_map(|it| {
                    Some(format!(
                        ", {} reads {}",
                        placed(&it.named.name, &it.site.name),
                        it.reads_back.as_ref()?.trim()
                    ))
                });
                self.say(&format!("set {what}{}", reads.collect::<String>()));
                Ok(powerband_knob::answer(&applied))
            }
            Err(refusal) => {
                match self.refusals.next(powerband_host::monotonic_ns()) {
                    Some(0) => self.say(&format!("refused {what}: {}", refusal.why)),
                    Some(unsaid) => {
                        self.say(&format!("refused {what}: {}; {unsaid} more were refused before it", refusal.why))
                    }
                    None => {}
                }
                Err(refusal)
            }
        }
    }

    fn set_unlogged(&mut self, machine: &mut dyn Machine, asked: &Asked, words: &str) -> Result<Applied, Refusal> {
        let refused = |class, why: String| Refusal { class, why };
        self.wait_for_turn();
        if self.settings.len() >= MAX_SETTINGS || asked.knobs.len() > MAX_KNOBS {
            return Err(refused(ErrorClass::Usage, "too much is set at once; restore some of it first".into()));
        }
        for knob in &asked.knobs {
            let named = resolve(&knob.knob).map_err(|error| error.refusal())?;
            self.granted.check_name(&named).map_err(|why| refused(ErrorClass::Denied, why))?;
            self.check_place(&named.name).map_err(|why| refused(ErrorClass::Denied, why))?;
        }
        let steps = plan_asked(asked, machine).map_err(|error| error.refusal())?;
        for target in steps.targets() {
            self.granted.check(&target, machine, &self.cpus).map_err(|why| refused(ErrorClass::Denied, why))?;
        }
        let applied = apply_steps(machine, &steps, Hold::Held).map_err(|error| error.refusal())?;
        if let Err(why) = self.check_in_force(machine, &applied) {
            let left = restore(machine, &applied.entries, false).left();
            let end =
                if left.is_empty() { "it was restored".into() } else { format!("not restored: {}", left.join(", ")) };
            return Err(refused(ErrorClass::Denied, format!("{why}; {end}")));
        }
        self.settings.push(InForce { words: words.to_owned(), entries: applied.entries.clone() });
        Ok(applied)
    }

    /// Refuses what reads there now and the policy does not allow: a driver or the kernel may make another value of what was asked for.
    fn check_in_force(&self, machine: &mut dyn Machine, applied: &Applied) -> Result<(), String> {
        for it in applied.inexact() {
            let Some(reads) = it.reads_back.as_ref().map(|reads| reads.trim()) else { continue };
            let value = it.named.knob.parse(&it.named.name, reads, machine, &it.site);
            let value = value.unwrap_or_else(|_| Value::Text(reads.to_owned()));
            let sites = std::slice::from_ref(&it.site);
            let target = Target { named: &it.named, value: &value, sites: Some(sites) };
            let what = placed(&it.named.name, &it.site.name);
            self.granted
                .check(&target, machine, &self.cpus)
                .map_err(|why| format!("{what} was set to {} and reads {reads}: {why}", it.asked.typed()))?;
        }
        Ok(())
    }

    /// What the policy means is the file by that name and the devices of this network namespace, not what the client sees.
    fn check_place(&self, name: &str) -> Result<(), String> {
        if let Some(path) = name.strip_prefix("file:") {
            powerband_host::trusted_place(Path::new(path)).map_err(|error| error.to_string())?;
        }
        if (name.starts_with("nic.") || name.starts_with("sysctl.net.")) && !self.shares_network {
            return Err(format!("{name} belongs to a network namespace, and the access service is in another one"));
        }
        Ok(())
    }

    /// So many changes a second and no more: a client that makes more waits.
    fn wait_for_turn(&mut self) {
        while let Err(wait_ns) = self.changes.take(powerband_host::monotonic_ns()) {
            powerband_host::pause_ns(wait_ns.min(CHANGE_NS));
        }
    }

    /// Restores the setting of this entry and all that were made after it. In any other order an older setting would bring
    /// back what a newer one found, and what a governor's switch has kept would be gone before the governor is back.
    fn undo(&mut self, machine: &mut dyn Machine, entry: EntryId) -> Undone {
        if let Some(place) = self.settings.iter().position(|setting| setting.entries.contains(&entry)) {
            self.wait_for_turn();
            for setting in self.settings.split_off(place).into_iter().rev() {
                let left = restore(machine, &setting.entries, false).left();
                self.say(&match left.is_empty() {
                    true => format!("restored what was before {}", setting.words),
                    false => format!("not restored: {}", left.join(", ")),
                });
            }
        }
        match machine.open_entries().iter().any(|open| open.id == entry && open.turn.hold == Hold::Held) {
            true => {
                Undone::Failed { why: "the access service could not restore it, and tries again at the end".into() }
            }
            false => Undone::Undone,
        }
    }
}

/// Nothing that is answered cannot be written as JSON; if it could not, the client finds nonsense.
fn value(answer: impl Serialize) -> Option<serde_json::Value> {
    Some(serde_json::to_value(answer).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_said_ten_a_minute_and_counted_beyond() {
        let mut refusals = Refusals::default();
        let said: Vec<Option<u32>> = (0..25).map(|_| refusals.next(MINUTE_NS + 5)).collect();
        assert!(said[..10].iter().all(|it| *it == Some(0)) && said[10..].iter().all(Option::is_none));
        assert_eq!(refusals.next(2 * MINUTE_NS + 5), Some(15));
        assert_eq!(refusals.next(2 * MINUTE_NS + 6), Some(0));
    }
}
