//! Whose node is given up: a task of which nothing is heard although its launcher says that it runs, or while its node is said to be
//! away. This is blind to what was measured.
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

use crate::{Attempts, Seen, best};

/// What shows how a task is getting on, while that does not change; with the time when it was last heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// Its node is said to be away. One that is only out of the launcher's reach may run its task to the end.
    Away(Option<SystemTime>),
    /// It is said to run.
    Runs(Option<SystemTime>),
}

/// How long each task shows the same.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Duration,
    since: BTreeMap<u32, (Sign, Instant)>,
    given_up: BTreeSet<u32>,
}

impl Patience {
    /// Patience that ends after this time.
    pub(crate) fn new(limit: Duration) -> Patience {
        Patience { limit, since: BTreeMap::new(), given_up: BTreeSet::new() }
    }

    /// Tasks whose nodes are to be given up now, and why; each once.
    pub(crate) fn exhausted(&mut self, seen: &BTreeMap<u32, Seen>, attempts: &Attempts) -> Vec<(u32, String)> {
        let now = Instant::now();
        let mut gone = Vec::new();
        for (at, seen) in seen {
            let Some(sign) = self.sign(seen, attempts.get(at).map_or(&[][..], Vec::as_slice)) else {
                self.since.remove(at);
                continue;
            };
            let (before, since) = self.since.entry(*at).or_insert((sign, now));
            if *before != sign {
                (*before, *since) = (sign, now);
            }
            if now - *since >= self.limit && self.given_up.insert(*at) {
                gone.push((*at, self.why(seen)));
            }
        }
        gone
    }

    /// Whether a node was given up.
    pub(crate) fn has_ended(&self, position: u32) -> bool {
        self.given_up.contains(&position)
    }

    fn why(&self, seen: &Seen) -> String {
        match seen {
            Seen::Waiting { why, .. } => format!("its node is not there: {why}"),
            _ => format!("nothing was heard of its task for {} s, although it is said to run", self.limit.as_secs()),
        }
    }

    /// What is seen of a task; nothing where it may take its time.
    fn sign(&self, seen: &Seen, attempts: &[crate::Attempt]) -> Option<Sign> {
        // Two may run at the same time.
        let touched = attempts.iter().filter_map(|attempt| attempt.touched).max();
        match seen {
            Seen::Waiting { stuck: true, .. } => Some(Sign::Away(touched)),
            Seen::Running if best(attempts).is_some_and(crate::Attempt::is_complete) => None,
            Seen::Running => Some(Sign::Runs(touched)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attempt;

    #[test]
    fn a_task_that_shows_signs_of_life_is_waited_for() {
        let mut patience = Patience::new(Duration::from_nanos(1));
        let mut look = |seen: Seen, touched_s: u64| {
            std::thread::sleep(Duration::from_millis(1));
            let touched = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(touched_s));
            let attempt = Attempt { touched, ..Attempt::parse(0, "\n", None) };
            let attempts = Attempts::from([(0, vec![attempt])]);
            patience.exhausted(&BTreeMap::from([(0, seen)]), &attempts).len()
        };
        let away = || Seen::Waiting { why: "NodeDown".into(), stuck: true };
        // What waits in the launcher's queue may wait.
        for _ in 0..3 {
            assert_eq!(look(Seen::Waiting { why: "Resources".into(), stuck: false }, 1), 0);
        }
        assert_eq!((1..9).map(|at| look(Seen::Running, at)).sum::<usize>(), 0);
        assert_eq!(
            (9..19).map(|at| look(away(), at)).sum::<usize>(),
            0,
            "it runs on where its launcher does not reach"
        );
        assert_eq!(look(Seen::Running, 9), 0);
        assert_eq!(look(Seen::Running, 9), 1);
        assert_eq!(look(Seen::Running, 9), 0, "once");
        // One that has not said a word is missed as well.
        let (mut patience, seen) = (Patience::new(Duration::ZERO), BTreeMap::from([(0, Seen::Running)]));
        assert_eq!(patience.exhausted(&seen, &Attempts::new()).len(), 1);
    }
}
