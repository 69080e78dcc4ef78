//! Network cards: which interrupts are theirs, and the packets their drivers count.
use std::collections::BTreeSet;

use powerband_machine::Look;
use powerband_record::IntoOrdered as _;
use powerband_sysfs::{names, net, net::NET, net::VIRTIO, proc::INTERRUPTS};

use super::super::interrupts::sum_of_lines;
use super::super::{Text, rate};
use super::Found;
use super::sources::counted;

/// A card, and what its lines of `/proc/interrupts` are told by.
struct Card {
    name: String,
    lines: Lines,
}

/// What tells a line of `/proc/interrupts`.
#[derive(Clone, PartialEq, Eq)]
enum Lines {
    /// Its number is one of these, which the named file has.
    Numbers(BTreeSet<String>, &'static str),
    /// Its name is this one, or begins with it and a dash.
    Name(String),
}

impl Lines {
    fn are(&self, label: &str, words: &[&str]) -> bool {
        match self {
            Lines::Numbers(numbers, _) => numbers.contains(label),
            Lines::Name(name) => words.iter().flat_map(|word| word.split(',')).any(|word| {
                word.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            }),
        }
    }

    /// How often the card interrupted since boot, on all CPUs.
    fn count(&self, text: &Text) -> Option<u64> {
        sum_of_lines(text.as_ref().ok()?, |label, words| self.are(label, words))
    }

    fn told_by(&self) -> String {
        match self {
            Lines::Numbers(_, file) => (*file).to_owned(),
            Lines::Name(name) => format!("lines of {name}"),
        }
    }
}

/// Interrupts a second, of all queues and whatever else the card tells by them.
pub(super) fn interrupts(machine: &mut dyn Look, card: Option<&str>) -> Result<Found, String> {
    let cards = cards(machine, card)?;
    let told_from = Some(told_from(&cards));
    let tell = move |first: &[Text], last: &[Text], ns: u64| rate(interrupted(&cards, first, last)?, ns);
    Ok(Found { files: vec![INTERRUPTS.into()], told_from, tell: Box::new(tell) })
}

/// Packets received and sent, as the driver counts them, by interrupts.
pub(super) fn packets_per_interrupt(machine: &mut dyn Look, card: Option<&str>) -> Result<Found, String> {
    let cards = cards(machine, card)?;
    let told_from = Some(told_from(&cards));
    let mut files = vec![INTERRUPTS.to_owned()];
    for card in &cards {
        files.extend(["rx_packets", "tx_packets"].map(|file| net::file(&card.name, &format!("statistics/{file}"))));
    }
    let tell = move |first: &[Text], last: &[Text], _: u64| {
        let packets = counted(first.get(1..)?, last.get(1..)?)?;
        let interrupts = interrupted(&cards, first, last)?;
        (interrupts > 0).then(|| packets as f64 / interrupts as f64)
    };
    Ok(Found { files, told_from, tell: Box::new(tell) })
}

fn told_from(cards: &[Card]) -> String {
    cards.iter().map(|card| format!("{} by {}", card.name, card.lines.told_by())).collect::<Vec<_>>().join(", ")
}

/// How often they interrupted; ports of one device, which share its interrupts, once.
fn interrupted(cards: &[Card], first: &[Text], last: &[Text]) -> Option<u64> {
    let mut apart: Vec<&Lines> = Vec::new();
    for card in cards {
        if !apart.contains(&&card.lines) {
            apart.push(&card.lines);
        }
    }
    let of = |lines: &Lines| lines.count(last.first()?)?.checked_sub(lines.count(first.first()?)?);
    apart.into_iter().map(of).sum()
}

/// The card that is named, or all of which the interrupts are known.
fn cards(machine: &mut dyn Look, card: Option<&str>) -> Result<Vec<Card>, String> {
    let devices = machine.list(NET).map_err(|errno| format!("{NET}: {errno}"))?;
    let devices = devices.into_iter().map(|entry| entry.name);
    let all: Vec<String> = devices.filter(|name| net::is_card(machine, name)).collect();
    let there_are = if all.is_empty() { "there is none".to_owned() } else { format!("there are: {}", all.join(", ")) };
    let wanted = match card {
        Some(card) if all.iter().any(|name| name == card) => vec![card.to_owned()],
        Some(card) => return Err(format!("'{card}' is not a NIC; {there_are}")),
        None => all,
    };
    let text = machine.read(INTERRUPTS);
    if let Err(errno) = text {
        return Err(format!("{INTERRUPTS}: {errno}"));
    }
    let known = |name: String| lines(machine, &name, &text).map(|lines| Card { name, lines });
    let known: Vec<Card> = wanted.into_iter().filter_map(known).collect();
    if known.is_empty() {
        return Err(format!(
            "nothing shows which interrupts belong to {}",
            card.map_or_else(|| format!("a NIC; {there_are}"), str::to_owned)
        ));
    }
    Ok(known)
}

/// What tells a card's interrupts: the kernel's own list of them where it has one, its one number, else names.
fn lines(machine: &mut dyn Look, card: &str, text: &Text) -> Option<Lines> {
    let listed = names(machine, &net::file(card, "device/msi_irqs"));
    let listed = Lines::Numbers(listed.into_iter().into_set(), "msi_irqs");
    let virtio = virtio(machine, card).map(Lines::Name);
    let number = powerband_sysfs::text(machine, &net::file(card, "device/irq")).unwrap_or_default();
    // 0 is the timer's, and what a device without one shows.
    let number: BTreeSet<String> = [number].into_iter().filter(|number| number != "0").into_set();
    let number = Lines::Numbers(number, "irq");
    let named = Lines::Name(card.to_owned());
    [Some(listed), virtio, Some(number), Some(named)].into_iter().flatten().find(|lines| lines.count(text).is_some())
}

/// What a card that the hypervisor offers is called there.
fn virtio(machine: &mut dyn Look, card: &str) -> Option<String> {
    let devices = names(machine, VIRTIO);
    devices.into_iter().find(|device| names(machine, &format!("{VIRTIO}/{device}/net")).iter().any(|name| name == card))
}
