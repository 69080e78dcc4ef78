//! Counting: what passed, failed and was skipped, and reading that off libtest's output.
use std::fmt;

/// How many checks and tests ended how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Ended well.
    pub(crate) passed: u64,
    /// Did not.
    pub(crate) failed: u64,
    /// Could not or should not run.
    pub(crate) skipped: u64,
    /// Tests that ran a second time, by title and name; counted among the others by how they ended then.
    pub(crate) repeated: Vec<String>,
    /// Failures, printed again at the very end, since the beginning of a long output may be cut.
    pub(crate) failures: Vec<Failure>,
}

/// One failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Title of the binary or check.
    pub(crate) title: String,
    /// The test, if libtest named one.
    pub(crate) test: Option<String>,
    /// The first lines that it printed.
    pub(crate) output: Vec<String>,
}

impl Failure {
    /// The title, and the name of the test.
    fn name(&self) -> String {
        self.test.iter().fold(self.title.clone(), |title, test| format!("{title}: {test}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())?;
        self.output.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

impl Tally {
    /// One check of what is named.
    pub(crate) fn check(well: bool, what: &str) -> Self {
        if well { Tally { passed: 1, ..Tally::default() } } else { Tally::failure(what) }
    }

    /// One failure.
    pub(crate) fn failure(what: &str) -> Self {
        let failure = Failure { title: what.to_owned(), ..Failure::default() };
        Tally { failed: 1, failures: vec![failure], ..Tally::default() }
    }

    /// Adds another's counts.
    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.repeated.extend(other.repeated);
        self.failures.extend(other.failures);
    }

    /// Puts the second run of all tests that failed in place of their first.
    pub(crate) fn repeat(&mut self, second: Tally) {
        let first = std::mem::take(self);
        let names = first.failures.iter().map(Failure::name);
        let repeated = first.repeated.into_iter().chain(names).collect();
        *self = Tally { passed: first.passed, skipped: first.skipped, repeated, ..Tally::default() };
        self.add(second);
    }

    /// Names of the tests that failed; nothing if something failed that is no test.
    pub(crate) fn failed_tests(&self) -> Option<Vec<&str>> {
        let tests: Option<Vec<&str>> = self.failures.iter().map(|failure| failure.test.as_deref()).collect();
        tests.filter(|tests| tests.len() as u64 == self.failed)
    }

    /// Whether nothing failed.
    pub(crate) fn well(&self) -> bool {
        self.failed == 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        if self.repeated.is_empty() { Ok(()) } else { write!(f, ", {} repeated once", self.repeated.len()) }
    }
}

/// What the virtual bench prints before the name of a test that runs a second time.
const REPEATED: &str = "repeated once after a hang: ";

/// How many lines of what a failed test printed are repeated at the end.
const WORDS: usize = 12;

/// Reads the output of one `cargo test`, line by line.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    title: String,
    tally: Tally,
    begun: u64,
    ended: u64,
    /// Lines that may still be taken of the failure that is being read.
    words: usize,
}

impl Reader {
    /// Of the tests that are called so.
    pub(crate) fn of(title: &str) -> Self {
        Reader { title: title.to_owned(), ..Reader::default() }
    }

    /// Takes one line of standard output.
    pub(crate) fn line(&mut self, line: &str) {
        self.failure(line);
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.ended += 1;
            self.tally.add(counts_of(counts));
        } else if is_announcement(line) {
            self.begun += 1;
        } else if let Some(test) = line.strip_prefix(REPEATED) {
            self.tally.repeated.push(format!("{}: {test}", self.title));
        }
    }

    /// The counts, once cargo has ended. A test binary that announced its tests and never summed them up has crashed,
    /// and a cargo that failed without a failed test could not build: each is one failure.
    pub(crate) fn end(self, success: bool) -> Tally {
        let mut tally = self.tally;
        tally.failed += self.begun.saturating_sub(self.ended);
        if !success && tally.failed == 0 {
            tally.failed = 1;
        }
        if tally.failed > tally.failures.len() as u64 {
            tally.failures.extend(
                Tally::failure(&format!("{}: ended without naming every test that failed", self.title)).failures,
            );
        }
        tally
    }

    /// Keeps what libtest repeats of a failed test: its name and the first lines that it printed.
    fn failure(&mut self, line: &str) {
        if let Some(test) = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----")) {
            let (title, test) = (self.title.clone(), Some(test.to_owned()));
            self.tally.failures.push(Failure { title, test, output: Vec::new() });
            self.words = WORDS;
        } else if line == "failures:" || line == "stack backtrace:" || line.starts_with("note: ") {
            self.words = 0;
        } else if let Some(failure) = self.tally.failures.last_mut()
            && self.words > 0
            && !line.is_empty()
        {
            self.words -= 1;
            failure.output.push(line.to_owned());
        }
    }
}

/// `running 12 tests`.
fn is_announcement(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("running ") else { return false };
    let Some((number, noun)) = rest.split_once(' ') else { return false };
    number.parse::<u64>().is_ok() && matches!(noun, "test" | "tests")
}

/// `ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; …`.
fn counts_of(text: &str) -> Tally {
    let mut tally = Tally::default();
    for part in text.split([';', '.']) {
        let mut words = part.split_whitespace();
        let (Some(number), Some(what)) = (words.next(), words.next()) else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match what {
            "passed" => tally.passed += number,
            "failed" => tally.failed += number,
            "ignored" => tally.skipped += number,
            _ => {}
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], success: bool, expect: (u64, u64, u64)) {
        let mut reader = Reader::default();
        lines.iter().for_each(|line| reader.line(line));
        let tally = reader.end(success);
        assert_eq!((tally.passed, tally.failed, tally.skipped), expect);
    }

    #[test]
    fn what_failed_is_kept_with_what_it_said() {
        let mut reader = Reader::of("host/it");
        let lines = "running 2 tests\ntest a::b ... FAILED\ntest c ... ok\n\nfailures:\n\n---- a::b stdout ----\n\n\
            thread 'a::b' (7) panicked at a.rs:1:1:\n0.2 of 0.1\nstack backtrace:\n   0: rust\n\n\
            failures:\n    a::b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        lines.lines().for_each(|line| reader.line(line));
        let said = "host/it: a::b\n    thread 'a::b' (7) panicked at a.rs:1:1:\n    0.2 of 0.1";
        let tally = reader.end(false);
        assert_eq!(tally.failures[0].to_string(), said);
        assert_eq!(tally.failed_tests(), Some(vec!["a::b"]));

        let mut reader = Reader::of("host/it");
        reader.line("running 2 tests");
        let tally = reader.end(false);
        assert_eq!(tally.failures[0].to_string(), "host/it: ended without naming every test that failed");
        assert_eq!(tally.failed_tests(), None);
    }

    #[test]
    fn results_add_up_over_binaries() {
        let ok = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let bad = "test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.25s";
        check(&["running 4 tests", ok], true, (3, 0, 1));
        check(&["running 4 tests", ok, "running 7 tests", bad], false, (8, 2, 1));
    }

    #[test]
    fn a_crashed_binary_and_a_failed_build_count_as_failures() {
        let ok = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        check(&["running 1 test", ok, "running 2 tests", "test a ... ok"], false, (1, 1, 0));
        check(&[], false, (0, 1, 0));
    }

    #[test]
    fn repeated_tests_are_counted_and_named_in_the_closing_line() {
        let mut reader = Reader::default();
        let ok = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 9.00s";
        for line in ["running 2 tests", "repeated once after a hang: cable::a_ping", "test cable::a_ping ... ok", ok] {
            reader.line(line);
        }
        assert_eq!(reader.end(true).to_string(), "2 passed, 0 failed, 1 repeated once");
    }

    #[test]
    fn a_second_run_takes_the_place_of_the_first() {
        let failed = |test: &str| Failure { title: "host/it".into(), test: Some(test.into()), output: Vec::new() };
        let mut tally = Tally { passed: 5, failed: 2, failures: vec![failed("a"), failed("b")], ..Tally::default() };
        tally.repeat(Tally { passed: 1, failed: 1, failures: vec![failed("b")], ..Tally::default() });
        assert_eq!(tally.to_string(), "6 passed, 1 failed, 2 repeated once");
        assert_eq!(
            (tally.repeated, tally.failures),
            (vec!["host/it: a".into(), "host/it: b".into()], vec![failed("b")])
        );
    }

    #[test]
    fn what_a_test_prints_is_not_an_announcement() {
        check(&["running late tests", "running 3 engines"], true, (0, 0, 0));
    }

    #[test]
    fn the_closing_line_names_skips_only_when_there_are_some() {
        assert_eq!(Tally { passed: 7, ..Tally::default() }.to_string(), "7 passed, 0 failed");
        assert_eq!(
            Tally { failed: 1, skipped: 2, passed: 7, ..Tally::default() }.to_string(),
            "7 passed, 1 failed, 2 skipped"
        );
    }
}
