//! Who a process is, while it lives: its program's name and the unit it runs in.
use powerband_record::Writer;

/// The kernel cuts names of programs (TASK_COMM_LEN), bytes.
const SHORT_NAME: usize = 15;

/// What ends the name of a unit of systemd that runs programs.
const UNITS: [&str; 2] = [".service", ".scope"];

/// The process of this number. 0 is one that our namespace of processes does not show.
pub(super) fn writer(pid: u32) -> Writer {
    if pid == 0 {
        return Writer::unknown("it runs outside this container");
    }
    let program = program(pid);
    Writer { pid: Some(pid), program, unit: unit(pid), inferred: None }
}

/// The name of its program, whole where the kernel has cut it. `None` once it is gone.
pub(super) fn program(pid: u32) -> Option<String> {
    let short = read(pid, "comm")?.trim_end().to_owned();
    if short.len() < SHORT_NAME {
        return Some(short);
    }
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let whole = path.as_deref().and_then(std::path::Path::file_name).map(|name| name.to_string_lossy().into_owned());
    Some(whole.filter(|whole| whole.starts_with(&short)).unwrap_or(short))
}

/// The session it is in, by the number of its leader.
pub(super) fn session(pid: u32) -> Option<u32> {
    // The name before it may hold anything, blanks and brackets too.
    session_of(&read(pid, "stat")?)
}

/// 0 is a leader that our namespace of processes does not show.
fn session_of(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(3)?.parse().ok().filter(|leader| *leader != 0)
}

/// The unit it runs in, by its control group.
fn unit(pid: u32) -> Option<String> {
    unit_of(&read(pid, "cgroup")?)
}

/// The last unit in the path of systemd's own hierarchy: `0::/system.slice/tuned.service`, in version 1 `1:name=systemd:/…`.
fn unit_of(groups: &str) -> Option<String> {
    let path = |line: &'_ str| {
        let (_, rest) = line.split_once(':')?;
        let (hierarchy, path) = rest.split_once(':')?;
        matches!(hierarchy, "" | "name=systemd").then(|| path.to_owned())
    };
    let path = groups.lines().filter_map(path).find(|path| path.len() > 1)?;
    path.rsplit('/').find(|name| UNITS.iter().any(|unit| name.ends_with(unit))).map(str::to_owned)
}

fn read(pid: u32, what: &str) -> Option<String> {
    crate::files::read(&format!("/proc/{pid}/{what}"), &mut Vec::new()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_read_off_the_control_group() {
        for (groups, unit) in [
            ("0::/system.slice/tuned.service\n", Some("tuned.service")),
            ("12:cpu:/x\n1:name=systemd:/system.slice/cron.service\n0::/\n", Some("cron.service")),
            ("0::/user.slice/user-0.slice/session-3.scope\n", Some("session-3.scope")),
            ("0::/system.slice/tuned.service/worker\n", Some("tuned.service")),
            ("0::/\n", None),
            ("nonsense", None),
        ] {
            assert_eq!(unit_of(groups).as_deref(), unit, "{groups}");
        }
    }

    #[test]
    fn a_process_has_a_name_while_it_lives() {
        let own = writer(std::process::id());
        assert_eq!(own.pid, Some(std::process::id()));
        assert!(own.program.is_some_and(|name| !name.is_empty() && !name.contains('\n')));
        assert_eq!(writer(u32::MAX).program, None);
    }

    #[test]
    fn a_session_is_known_by_its_leader_where_that_is_shown() {
        assert_eq!(session_of("7 (a) b) S 1 7 5 0 -1"), Some(5));
        assert_eq!(session_of("7 (sh) S 0 7 0 0 -1"), None);
        assert_eq!(session_of("7 (sh) S"), None);
    }
}
