//! The course of clocks and of how busy CPUs are while work runs, read by the machine that runs it and packed as timelines.
use std::collections::BTreeMap;

use powerband_machine::{Handle, Look, Sample as Moment, Sampling};
use powerband_record::{CpuList, MeterQuantity, MeterReading, Recorded, Recording, Side, Timeline};
use powerband_sysfs::proc::STAT;

use crate::state::{Clocks, CpuTime, Text, Utilisation, present};

/// Times of courses are kept in whole milliseconds: the kernel counts use in ticks of ten, and equal steps pack small.
const TIME_STEP_NS: u64 = 1_000_000;

/// Courses of one machine, open for one piece of work.
#[derive(Debug, Default)]
pub struct OpenCourses {
    /// Those read at one period are read together, each from its place in the list of handles on.
    watched: BTreeMap<u64, Vec<Open>>,
    after_ns: u64,
}

/// One open course.
#[derive(Debug)]
struct Open {
    cpus: CpuList,
    of: Source,
}

/// What it is read from.
#[derive(Debug)]
enum Source {
    Clocks(Clocks),
    Utilisation(Utilisation),
}

impl OpenCourses {
    /// Opens what is to be kept of this machine, of `cpus` where a recording names none itself and all when `None`.
    ///
    /// # Errors
    /// Which of them this machine cannot tell, and why.
    pub fn open(
        machine: &mut dyn Look,
        recordings: &[Recording],
        cpus: Option<&CpuList>,
    ) -> Result<OpenCourses, (Recorded, String)> {
        let mut courses = OpenCourses::default();
        let mut all = None;
        for recording in recordings {
            let named = recording.cpus.as_ref().or(cpus);
            let there = all.get_or_insert_with(|| present(machine));
            let cpus = named.map_or_else(|| there.clone(), |named| CpuList::new(within(named, there)));
            let open = match named {
                Some(named) if cpus.is_empty() => Err(format!("there is no cpu {named} here")),
                _ => Source::open(machine, recording.what, &cpus),
            };
            match open {
                Ok(of) => {
                    courses.watched.entry(recording.period_ns).or_default().push(Open { cpus, of });
                    courses.after_ns = courses.after_ns.max(recording.after_ns);
                }
                Err(why) => {
                    courses.close(machine);
                    return Err((recording.what, why));
                }
            }
        }
        Ok(courses)
    }

    /// What the work's job is to say of them, one for each period.
    #[must_use]
    pub fn watches(&self) -> Vec<Sampling> {
        let watch = |(period_ns, open): (&u64, &Vec<Open>)| Sampling {
            handles: open.iter().flat_map(|open| open.of.handles()).collect(),
            period_ns: Some(*period_ns),
        };
        self.watched.iter().map(watch).collect()
    }

    /// For how long they are to be read on after the work, ns.
    #[must_use]
    pub fn after_ns(&self) -> u64 {
        self.after_ns
    }

    /// What was read by [`OpenCourses::watches`] around the work and after it, a timeline for each clock and each CPU. Readings
    /// that failed are left out.
    #[must_use]
    pub fn timelines(&self, side: Side, around: &[Vec<Moment>], after: &[Vec<Moment>]) -> Vec<Timeline> {
        let mut timelines = Vec::new();
        for (place, (open, moments)) in self.watched.values().zip(around).enumerate() {
            let moments = || moments.iter().chain(after.get(place).into_iter().flatten());
            let mut from = 0;
            for course in open {
                let own = from..from + course.of.handles().len();
                from = own.end;
                let read = moments().map(|it| (it.at_ns, it.texts.get(own.clone()).unwrap_or_default()));
                timelines.extend(course.timelines(side, read));
            }
        }
        timelines
    }

    /// Of which CPUs they tell: of a clock all that share it.
    #[must_use]
    pub fn cpus(&self) -> CpuList {
        let of = |open: &Open| match &open.of {
            Source::Clocks(clocks) => {
                clocks.policies().iter().flat_map(|policy| policy.cpus.as_slice().to_vec()).collect()
            }
            Source::Utilisation(_) => open.cpus.as_slice().to_vec(),
        };
        CpuList::new(self.watched.values().flatten().flat_map(of).collect())
    }

    /// Closes them.
    pub fn close(self, machine: &mut dyn Look) {
        for open in self.watched.into_values().flatten() {
            open.of.handles().into_iter().for_each(|handle| machine.close(handle));
        }
    }
}

/// Those of `named` that are there.
fn within(named: &CpuList, there: &CpuList) -> Vec<u32> {
    named.as_slice().iter().copied().filter(|&cpu| there.contains(cpu)).collect()
}

impl Source {
    fn open(machine: &mut dyn Look, what: Recorded, cpus: &CpuList) -> Result<Source, String> {
        if what == Recorded::Utilisation {
            return Utilisation::open(machine)
                .map(Source::Utilisation)
                .map_err(|errno| format!("{STAT} cannot be opened: {errno}"));
        }
        let clocks = Clocks::open_alone(machine, cpus);
        match &clocks.unread {
            Some(_) => {
                Err("this kernel interrupts each CPU to read its frequency, so that reading would keep it awake; \
                            --metric clock_mhz reports the mean without that"
                    .to_owned())
            }
            None if clocks.handles().is_empty() => Err("there is no cpufreq for these CPUs".to_owned()),
            None => Ok(Source::Clocks(clocks)),
        }
    }

    fn handles(&self) -> Vec<Handle> {
        match self {
            Source::Clocks(clocks) => clocks.handles(),
            Source::Utilisation(stat) => stat.handles(),
        }
    }
}

impl Open {
    fn timelines<'a>(&self, side: Side, read: impl Iterator<Item = (u64, &'a [Text])>) -> Vec<Timeline> {
        let mut first_ns = None;
        let read = read.map(|(at_ns, texts)| {
            let since_ns = at_ns.saturating_sub(*first_ns.get_or_insert(at_ns));
            ((since_ns + TIME_STEP_NS / 2) / TIME_STEP_NS * TIME_STEP_NS, texts)
        });
        let (name, quantity, courses) = match &self.of {
            Source::Clocks(clocks) => (Recorded::Clock, MeterQuantity::ClockKhz, clocked(clocks, read)),
            Source::Utilisation(stat) => (Recorded::Utilisation, MeterQuantity::BusyPermille, self.used(stat, read)),
        };
        let pack =
            |(of, readings): (String, Vec<MeterReading>)| Timeline::pack(side, name.name(), &of, quantity, &readings);
        courses.into_iter().filter_map(pack).collect()
    }

    /// How busy each CPU was since the reading before, in thousandths. Where no tick has passed a reading is left out, and the next
    /// tells of the whole time.
    fn used<'a>(
        &self,
        stat: &Utilisation,
        read: impl Iterator<Item = (u64, &'a [Text])>,
    ) -> Vec<(String, Vec<MeterReading>)> {
        let mut courses: BTreeMap<u32, (CpuTime, Vec<MeterReading>)> = BTreeMap::new();
        for (at_ns, texts) in read {
            for (cpu, now) in stat.snapshot(texts).into_iter().filter(|(cpu, _)| self.cpus.contains(*cpu)) {
                match courses.get_mut(&cpu) {
                    None => drop(courses.insert(cpu, (now, vec![(at_ns, 0)]))),
                    Some((before, readings)) => {
                        let Some(share) = now.busy_since(before) else { continue };
                        // A share of 1 at most.
                        readings.push((at_ns, (share * 1e3).round() as u64));
                        *before = now;
                    }
                }
            }
        }
        courses.into_iter().map(|(cpu, (_, readings))| (format!("cpu{cpu}"), readings)).collect()
    }
}

/// What the clock of each policy was at each reading, kHz.
fn clocked<'a>(clocks: &Clocks, read: impl Iterator<Item = (u64, &'a [Text])>) -> Vec<(String, Vec<MeterReading>)> {
    let mut courses: Vec<_> = clocks.policies().iter().map(|policy| (policy.name.clone(), Vec::new())).collect();
    for (at_ns, texts) in read {
        for ((_, readings), now) in courses.iter_mut().zip(clocks.snapshot(texts)) {
            readings.extend(now.khz.map(|khz| (at_ns, u64::from(khz))));
        }
    }
    courses
}
