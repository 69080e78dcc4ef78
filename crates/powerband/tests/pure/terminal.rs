//! Output on a terminal of 24 lines of 80 columns, whose last line can be typed.

/// Asserts that a report fits and that its last line is a command that `run` runs: given the words, its exit code and standard error.
#[track_caller]
pub(crate) fn fits(out: &str, run: impl Fn(&str) -> (i32, String)) {
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() <= 24, "{} lines:\n{out}", lines.len());
    for line in &lines {
        assert!(line.chars().count() <= 80, "{} columns: {line}\n{out}", line.chars().count());
    }
    assert!(!out.contains("as found") && !out.contains("put back") && !out.contains("p 0.000"), "{out}");
    // The last line alone is the whole of it.
    let command = *lines.last().unwrap();
    let typed = command.strip_prefix("powerband ").unwrap_or_else(|| panic!("no command of ours: {command}\n{out}"));
    let begins = |verb: &str| command.contains(&format!(" {verb} "));
    if out.contains("\ndecide it") {
        // To decide it takes as long again.
    } else if begins("with") {
        // The load is the reader's to name. A simulated machine runs no program, and says so.
        let simulated = command.contains("--machine sim:");
        let (code, why) = run(&typed.replace("-- COMMAND", "-- true"));
        assert_eq!(code, if simulated { 4 } else { 0 }, "{why}");
        assert!(!simulated || why.contains("is simulated and cannot run 'true'"), "{why}");
    } else {
        let (code, why) = run(&if begins("set") { format!("{typed} --dry-run") } else { typed.to_owned() });
        assert_eq!(code, 0, "{why}");
    }
}
