//! A knob that is one file of a policy holding a frequency: what the fixed frequency and the two limits have in common.
use powerband_machine::{Action, Change, Errno, Look};

use crate::knob::Turning;
use crate::knob::release;
use crate::{About, Knob, KnobError, Landed, Selection, Site, Sites, Value, frequency, policy::policies};

/// What takes a limit back to nobody's: the hardware's own limit is shown then, and only then is nothing asked of the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reset {
    /// What is written (Linux 6.1 include/linux/pm_qos.h, FREQ_QOS_MIN_DEFAULT_VALUE and FREQ_QOS_MAX_DEFAULT_VALUE). Older
    /// kernels bring it inside the hardware's limits.
    pub(crate) text: &'static str,
    /// The file that shows the hardware's own limit.
    pub(crate) shows: &'static str,
}

/// The lower limit's.
pub(super) const LOWEST: Reset = Reset { text: "0", shows: "cpuinfo_min_freq" };
/// The upper limit's.
pub(super) const HIGHEST: Reset = Reset { text: "2147483647", shows: "cpuinfo_max_freq" };

/// Another file of the same folder.
fn sibling(path: &str, name: &str) -> String {
    path.rsplit_once('/').map_or_else(|| name.to_owned(), |(folder, _)| format!("{folder}/{name}"))
}

/// What the kernel makes of a frequency that is none of the driver's steps, or too high.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// The file of the policy that shows a limit which no setting moves.
    pub(crate) at_most: Option<&'static str>,
    /// Whether it becomes the next step above, not below.
    pub(crate) up: bool,
    /// The kernel that brings it to a step, and all later ones.
    pub(crate) since: (u32, u32, u32),
}

/// One file of a policy that takes kHz and shows what came of it.
#[derive(Clone, Copy, Debug)]
pub struct FrequencyFile {
    pub(super) file: &'static str,
    pub(super) reset: Option<Reset>,
    pub(super) kept: Kept,
    pub(super) about: &'static About,
}

impl Knob for FrequencyFile {
    fn about(&self) -> &'static About {
        self.about
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        policies(machine, name)?.sites(name, self.file, at)
    }

    fn parse(&self, name: &str, text: &str, machine: &mut dyn Look, site: &Site) -> Result<Value, KnobError> {
        frequency::parse(name, text, machine, site.policy.as_ref())
    }

    fn choices(&self, machine: &mut dyn Look, site: &Site) -> Vec<Value> {
        site.policy.as_ref().map_or_else(Vec::new, |policy| frequency::choices(machine, policy))
    }

    fn becomes(&self, value: &Value, machine: &mut dyn Look, site: &Site) -> Option<Value> {
        let (Value::Khz(asked), Some(policy)) = (value, &site.policy) else { return None };
        let Kept { at_most, up, since } = self.kept;
        let most = at_most.and_then(|file| policy.khz(machine, file)).unwrap_or(u32::MAX);
        let khz = (*asked).min(most);
        let steps = if release(machine) >= since { policy.steps_khz(machine) } else { Vec::new() };
        let (below, above) =
            (steps.iter().filter(|step| **step <= khz).max(), steps.iter().filter(|step| **step >= khz).min());
        let becomes = match (below, above) {
            (_, Some(above)) if up => *above,
            // Nothing is said above the highest: boost is not among the steps.
            (Some(below), Some(_)) => *below,
            _ => khz,
        };
        (becomes != *asked).then_some(Value::Khz(becomes))
    }

    fn turn(&self, value: &Value, machine: &mut dyn Change, site: &Site) -> Result<Turning, Errno> {
        let path = site.path.clone().ok_or(Errno::ENOENT)?;
        let before = machine.read(&path)?.trim_end().to_owned();
        let own = self.reset.map(|reset| (reset, machine.read(&sibling(&path, reset.shows)).unwrap_or_default()));
        let undo = match own {
            Some((reset, own)) if own.trim() == before => reset.text.to_owned(),
            _ => before.clone(),
        };
        let undo = Some(Action::WriteFile { path: path.clone(), text: undo });
        Ok(Turning { action: Action::WriteFile { path, text: value.typed() }, undo, before: Some(before) })
    }

    fn shows_outcome(&self) -> bool {
        true
    }

    fn landed_elsewhere(&self, reads: &str) -> Landed {
        Landed::Clamped { to: frequency::shown(reads) }
    }

    fn shown(&self, reads: &str) -> String {
        match self.reset {
            Some(reset) if reads.trim() == reset.text => "no limit".into(),
            _ => frequency::shown(reads),
        }
    }
}
