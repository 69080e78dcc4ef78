//! Processes that the load left running at the end of its runs: how many there were, and the note that says so.

/// What all runs of a load left running so far.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    runs: u32,
    /// The fewest and the most that one run left.
    range: Option<(u32, u32)>,
}

impl Leftovers {
    /// A run left so many processes, which were ended.
    pub(crate) fn add(&mut self, processes: u32) {
        if processes == 0 {
            return;
        }
        self.runs += 1;
        let (fewest, most) = self.range.unwrap_or((processes, processes));
        self.range = Some((fewest.min(processes), most.max(processes)));
    }

    /// How many runs left some.
    pub(crate) fn runs(&self) -> u32 {
        self.runs
    }

    /// What the report says of it.
    pub(crate) fn note(&self) -> Option<String> {
        let count = match self.range? {
            (1, 1) => "a process".to_owned(),
            (fewest, most) if fewest == most => format!("{most} processes"),
            (fewest, most) => format!("{fewest} to {most} processes"),
        };
        let (it, runs) = match self.runs {
            1 => (if count == "a process" { "it was" } else { "they were" }, "one run".to_owned()),
            runs => ("they were", format!("each of {runs} runs")),
        };
        Some(format!("the load left {count} behind after {runs}; {it} ended before the next run"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_counts_runs_and_processes() {
        let note = |counts: &[u32]| {
            let mut leftovers = Leftovers::default();
            counts.iter().for_each(|&count| leftovers.add(count));
            leftovers.note().unwrap_or_default()
        };
        assert_eq!(note(&[0, 0]), "");
        assert_eq!(note(&[0, 1]), "the load left a process behind after one run; it was ended before the next run");
        let same = "the load left 10 processes behind after each of 2 runs; they were ended before the next run";
        assert_eq!(note(&[10, 0, 10]), same);
        assert!(note(&[3, 7, 5]).contains("left 3 to 7 processes behind after each of 3 runs"));
    }
}
