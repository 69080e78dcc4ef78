//! Which of the findings is in force at each site, whether that explains what reads there, and the chain in a sentence.
use std::collections::BTreeMap;

use crate::finding::{BootFinding, BootPhase, BootStanding};
use crate::target::{Place, Target};

/// More names of sites than this are told as a range.
const MAX_NAMES: usize = 4;

/// Settles the standing of every finding, says which explains what reads, and puts the chain in a sentence. Services
/// start one after the other or, under systemd, `side_by_side`.
pub(crate) fn judge(target: &Target, findings: &mut [BootFinding], side_by_side: bool) -> String {
    let mut in_force: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for place in &target.places {
        if let Some(last) = last_at(target, findings, place, side_by_side) {
            in_force.entry(last).or_default().push(place.site.name.clone());
            findings[last].explains |= explains(target, &findings[last], place);
        }
    }
    override_the_others(findings, &in_force);
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for place in &target.places {
        let told = chain(target, findings, place, side_by_side);
        match groups.iter_mut().find(|(sentence, _)| *sentence == told) {
            Some((_, sites)) => sites.push(place.site.name.clone()),
            None => groups.push((told, vec![place.site.name.clone()])),
        }
    }
    match &groups[..] {
        [(sentence, _)] => sentence.clone(),
        groups => {
            let told = groups.iter().map(|(sentence, sites)| format!("at {}: {sentence}", names(sites)));
            told.collect::<Vec<_>>().join(". ")
        }
    }
}

/// The kernel refuses a governor the driver does not have.
pub(crate) fn refuse_what_is_not_offered(target: &Target, findings: &mut [BootFinding]) {
    if !target.is_governor() || target.governors.is_empty() {
        return;
    }
    let offered = |value: &String| target.governors.contains(value);
    for finding in findings.iter_mut().filter(|finding| finding.counts()) {
        if finding.values.iter().any(offered) {
            finding.values.retain(offered);
        } else {
            let driver = target.driver.as_deref().unwrap_or("the driver");
            let why = format!("{driver} offers only {}", target.governors.join(", "));
            finding.standing = BootStanding::Off { why };
        }
    }
}

/// The finding that acts last at a place. Among services that start side by side and disagree, the one whose value reads
/// there came last.
fn last_at(target: &Target, findings: &[BootFinding], place: &Place, side_by_side: bool) -> Option<usize> {
    let acting: Vec<usize> = (0..findings.len()).filter(|&i| acts_at(&findings[i], place)).collect();
    let &last = acting.last()?;
    let beside = |i: &&usize| side_by_side && matches!(findings[**i].phase, BootPhase::Services | BootPhase::Daemons);
    if explains(target, &findings[last], place) || !beside(&&last) {
        return Some(last);
    }
    let first = findings[last].phase;
    let together = acting.iter().rev().filter(beside).filter(|&&i| findings[i].phase == first);
    let explaining = together.copied().find(|&i| explains(target, &findings[i], place));
    explaining.or(Some(last))
}

fn acts_at(finding: &BootFinding, place: &Place) -> bool {
    finding.counts() && finding.sites.contains(&place.site.name)
}

fn explains(target: &Target, finding: &BootFinding, place: &Place) -> bool {
    finding.values.iter().any(|value| target.reads(place, value))
}

/// What is in force nowhere is overridden by what is, at the first of its sites.
fn override_the_others(findings: &mut [BootFinding], in_force: &BTreeMap<usize, Vec<String>>) {
    for i in 0..findings.len() {
        if !findings[i].counts() || in_force.contains_key(&i) {
            continue;
        }
        let site = findings[i].sites.first();
        let winner = in_force.iter().find(|(_, sites)| site.is_some_and(|site| sites.contains(site)));
        if let Some(by) = winner.map(|(&winner, _)| findings[winner].who.clone()) {
            findings[i].standing = BootStanding::Overridden { by };
        }
    }
}

/// The chain that leads to what reads at one place.
fn chain(target: &Target, findings: &[BootFinding], place: &Place, side_by_side: bool) -> String {
    let mut acting: Vec<&BootFinding> = findings.iter().filter(|finding| acts_at(finding, place)).collect();
    // The one in force is told last, also where it came before another in the list.
    if let Some(last) = last_at(target, findings, place, side_by_side) {
        acting.retain(|finding| !std::ptr::eq(*finding, &raw const findings[last]));
        acting.push(&findings[last]);
    }
    let Some(reads) = place.reads.as_deref().map(|reads| target.named.knob.shown(reads)) else {
        let clauses: Vec<String> = acting.iter().map(|finding| clause(finding)).collect();
        let told = if clauses.is_empty() { "nothing found here sets it".into() } else { clauses.join(", then ") };
        let why = place.unread.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        return format!("{told}; what is in force now cannot be read{why}");
    };
    let Some((last, _)) = acting.split_last() else {
        let known = findings.iter().any(|finding| finding.phase == BootPhase::Kernel && !finding.values.is_empty());
        let default = match target.is_governor() {
            true if known => "",
            true => "it is the kernel's own default, which cannot be read here, or ",
            false => "it is its own default, or ",
        };
        let hints = hints(target, findings, place);
        return format!("nothing found here sets {reads}; {default}something set it by hand or at run time{hints}");
    };
    let clauses: Vec<String> = acting.iter().map(|finding| clause(finding)).collect();
    let told = clauses.join(", then ");
    if explains(target, last, place) {
        let alone = acting.len() == 1 && last.phase <= BootPhase::Driver;
        let alone = if alone { ", and nothing found here changes it" } else { "" };
        return format!("{told}{alone}; it reads {reads} now");
    }
    let hints = hints(target, findings, place);
    format!(
        "{told}; but it reads {reads} now, and nothing found here sets that: something set it by hand or at run time{hints}"
    )
}

/// `the kernel starts with userspace (CONFIG…)`.
fn clause(finding: &BootFinding) -> String {
    let values = match &finding.values[..] {
        [one] => one.clone(),
        several => format!("one of {}", several.join(", ")),
    };
    let because = finding.because.as_ref().map(|because| format!(", {because},")).unwrap_or_default();
    let because = because.trim_end_matches(',');
    let (who, verb) = (&finding.who, &finding.verb);
    let how = finding.how.as_ref().filter(|how| *how != who).map(|how| format!(" ({how})")).unwrap_or_default();
    if finding.phase <= BootPhase::CommandLine {
        format!("{who} {verb} {values}{how}{because}")
    } else {
        format!("{who}{how} {verb} {values}{because}")
    }
}

/// What may be behind a value that nothing explains.
fn hints(target: &Target, findings: &[BootFinding], place: &Place) -> String {
    let may = findings.iter().find_map(|finding| {
        let would = finding.sites.contains(&place.site.name) && explains(target, finding, place);
        match &finding.standing {
            BootStanding::Unsure { why } if would || finding.values.is_empty() => {
                Some(format!("; perhaps {} ({}): {why}", finding.who, finding.place()))
            }
            BootStanding::Off { why } if would => {
                Some(format!("; {} ({}) would set that, but {why}", finding.who, finding.place()))
            }
            _ => None,
        }
    });
    let unread = findings.iter().filter(|finding| matches!(finding.standing, BootStanding::Unreadable { .. })).count();
    let unread = match unread {
        0 => String::new(),
        1 => "; 1 file could not be read".to_owned(),
        many => format!("; {many} files could not be read"),
    };
    may.unwrap_or_default() + &unread
}

/// Names of sites: all of a few, the ends of many.
pub(crate) fn names(sites: &[String]) -> String {
    match sites {
        [first, .., last] if sites.len() > MAX_NAMES => format!("{first} to {last} ({} of them)", sites.len()),
        few => few.join(", "),
    }
}
