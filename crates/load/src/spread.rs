//! A load on a list of machines: which of its parts run where, and what the same part came to on several of them.
use powerband_machine::Finished;
use powerband_record::{Among, Side, Work};
use serde_json::Value;

use crate::{Load, LoadPart, RigEnds};

impl Load {
    /// Its processes on the machines of a rig, in the order they start. On a list of machines the ranks of `primes` are dealt to
    /// all of them, as evenly as it goes; everything else runs on the first.
    #[must_use]
    pub fn parts_on(&self, rig: &RigEnds, machines: &[Side]) -> Vec<LoadPart> {
        let mut parts = self.parts(rig);
        let Some(&first @ Side::Node(_)) = machines.first() else { return parts };
        for part in &mut parts {
            part.side = first;
        }
        let Load::Primes(primes) = self else { return parts };
        let (Some(all), Some(part)) = (primes.ranks, parts.first().cloned()) else { return parts };
        let count = u32::try_from(machines.len()).unwrap_or(u32::MAX);
        let until = |place: u32| u32::try_from(u64::from(all) * u64::from(place) / u64::from(count)).unwrap_or(all);
        let share = |(place, &side): (u32, &Side)| {
            let (first, ranks) = (until(place), until(place + 1) - until(place));
            let among = Some(Among { first, all });
            let work = Work::Primes { ranks: Some(ranks), limit: primes.limit, mpirun: false, among };
            (ranks > 0).then(|| LoadPart { side, work, ..part.clone() })
        };
        (0..count).zip(machines).filter_map(share).collect()
    }
}

/// What one part came to that ran on several machines at once: the time of the slowest, the cost of all, numbers of their
/// reports added up. It has failed where one has.
#[must_use]
pub fn joined(one: Finished, other: Finished) -> Finished {
    let (status, mut usage) = (if one.status.success() { other.status } else { one.status }, one.usage);
    usage.real_ns = usage.real_ns.max(other.usage.real_ns);
    usage.user_ns = usage.user_ns.saturating_add(other.usage.user_ns);
    usage.sys_ns = usage.sys_ns.saturating_add(other.usage.sys_ns);
    usage.peak_rss_kib = usage.peak_rss_kib.max(other.usage.peak_rss_kib);
    let report = match (one.report, other.report) {
        (Some(one), Some(other)) => Some(added(&one, &other)),
        (one, other) => one.or(other),
    };
    let mut output = one.output;
    output.stdout += &other.output.stdout;
    output.stderr += &other.output.stderr;
    output.cut |= other.output.cut;
    Finished { status, usage, report, output, around: one.around }
}

/// The numbers of two reports added up, by name.
fn added(one: &Value, other: &Value) -> Value {
    let (Value::Object(own), Value::Object(others)) = (one, other) else { return one.clone() };
    let mut all = own.clone();
    for (name, value) in others {
        let sum = match (all.get(name).and_then(Value::as_f64), value.as_f64()) {
            (Some(known), Some(more)) => Value::from(known + more),
            _ => value.clone(),
        };
        all.insert(name.clone(), sum);
    }
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use powerband_record::{ExitStatus, Output, Usage};
    use serde_json::json;

    use super::*;
    use crate::PrimesLoad;

    fn nodes(count: usize) -> Vec<Side> {
        (1..=count).map(|number| format!("n{number}").parse().unwrap()).collect()
    }

    #[test]
    fn ranks_are_dealt_to_all_machines_and_none_is_lost() {
        let load = Load::Primes(PrimesLoad { ranks: Some(18), ..PrimesLoad::default() });
        let rig = RigEnds { near: String::new(), far: None };
        for count in [1, 2, 4, 7, 18, 20] {
            let machines = nodes(count);
            let mut next = 0;
            for part in load.parts_on(&rig, &machines) {
                let Work::Primes { ranks: Some(ranks), among: Some(Among { first, all: 18 }), .. } = part.work else {
                    panic!("{part:?}")
                };
                assert_eq!(first, next, "{count} machines");
                assert!(machines.contains(&part.side));
                next += ranks;
            }
            assert_eq!(next, 18, "{count} machines");
        }
        let other = Load::builtin("counter", None).unwrap();
        assert!(other.parts_on(&rig, &nodes(3)).iter().all(|part| part.side == nodes(1)[0]));
        assert_eq!(other.parts_on(&rig, &[Side::Near]), other.parts(&rig));
    }

    #[test]
    fn a_job_is_as_slow_as_its_slowest_machine_and_costs_what_all_do() {
        let ended = |real_ns, primes, status| Finished {
            status,
            usage: Usage { real_ns, user_ns: 5, sys_ns: 1, peak_rss_kib: 0 },
            report: Some(json!({ "primes": primes, "ranks": 9 })),
            output: Output { stdout: String::new(), stderr: String::new(), cut: false },
            around: Vec::new(),
        };
        let fine = ExitStatus::Code(0);
        let both = joined(ended(7, 20, fine), ended(9, 22, fine));
        assert_eq!((both.usage.real_ns, both.usage.user_ns, both.usage.sys_ns), (9, 10, 2));
        assert_eq!(both.report, Some(json!({ "primes": 42.0, "ranks": 18.0 })));
        assert!(!joined(ended(7, 20, fine), ended(9, 22, ExitStatus::Signal(9))).status.success());
    }
}
