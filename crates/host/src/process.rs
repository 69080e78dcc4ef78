//! Processes as /proc shows them: what the kernel says of one, and whether it is the guardian of another.

/// The hidden verb under which the command calls [`crate::stand_guard`]; the ledger's folder follows as one argument.
pub const GUARDIAN_VERB: &str = "__guardian";
/// No process has more ancestors than this.
const MAX_ANCESTORS: usize = 1024;

/// What /proc/PID/stat says of a process (proc(5)).
pub(crate) struct Stat {
    /// Dead, perhaps not reaped.
    pub(crate) ended: bool,
    /// By a signal (SIGSTOP, Ctrl-Z), not by a debugger.
    pub(crate) stopped: bool,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// When it began, clock ticks since the boot.
    pub(crate) start_ticks: u64,
}

/// `None` when there is no such process.
pub(crate) fn stat(pid: i32) -> Option<Stat> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The second field is a name in parentheses that may hold anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Stat {
        ended: matches!(*fields.first()?, "Z" | "X"),
        stopped: *fields.first()? == "T",
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
    })
}

/// Whether a process is the guardian of `owner`: its child, started under the hidden verb.
pub(crate) fn is_guardian_of(pid: i32, owner: i32) -> bool {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let guards = words.split(|&byte| byte == 0).nth(1) == Some(GUARDIAN_VERB.as_bytes());
    guards && stat(pid).is_some_and(|stat| stat.parent == owner)
}

/// Whether this process is a descendant of another.
pub(crate) fn runs_inside(pid: i32) -> bool {
    let parent = |child: &i32| stat(*child).map(|stat| stat.parent).filter(|parent| *parent > 0);
    let own = rustix::process::getpid().as_raw_nonzero().get();
    // A process that ends meanwhile may have its number given to another, so the walk has an end.
    pid > 0 && std::iter::successors(parent(&own), parent).take(MAX_ANCESTORS).any(|ancestor| ancestor == pid)
}
