//! Processes as they are written down, so that who ran something can be told from anyone who got its number later.
use powerband_record::Owner;

use crate::process::stat;

fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim_end().to_owned()
}

/// This process.
#[must_use]
pub fn this_process() -> Owner {
    let pid = std::process::id();
    let start_ticks = i32::try_from(pid).ok().and_then(stat).map_or(0, |stat| stat.start_ticks);
    Owner { pid, start_ticks, boot_id: boot_id() }
}

/// Whether that very process still lives on this box.
#[must_use]
pub fn is_alive(owner: &Owner) -> bool {
    let found = i32::try_from(owner.pid).ok().and_then(stat);
    found.is_some_and(|stat| !stat.ended && stat.start_ticks == owner.start_ticks) && owner.boot_id == boot_id()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_more_than_its_number() {
        let us = this_process();
        assert!(is_alive(&us));
        assert!(!is_alive(&Owner { boot_id: "another boot".into(), ..us.clone() }));
        assert!(!is_alive(&Owner { start_ticks: us.start_ticks + 1, ..us }));
    }

    #[test]
    fn one_that_ended_is_gone_before_and_after_it_is_reaped() {
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        let start_ticks = stat(i32::try_from(pid).unwrap()).unwrap().start_ticks;
        let owner = Owner { pid, start_ticks, boot_id: boot_id() };
        assert!(is_alive(&owner));
        child.kill().unwrap();
        // Killed and not reaped, then reaped.
        let until = crate::now_ns() + 120_000_000_000;
        while is_alive(&owner) {
            assert!(crate::now_ns() < until);
            crate::pause_until(crate::now_ns() + 1_000_000);
        }
        child.wait().unwrap();
        assert!(!is_alive(&owner));
    }
}
