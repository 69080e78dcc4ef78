//! CPUs as sites: which there are, and which of them a selection means.
use powerband_machine::Look;
use powerband_record::CpuList;
use powerband_sysfs::topology::present;

use crate::policy::parse_cpus;
use crate::{KnobError, Selection};

/// Those a selection means: `@cpu1`, `@cpu0-3`, or `-c LIST`; all of them when it says nothing.
///
/// # Errors
/// [`KnobError::NoSite`] when it means none.
pub(crate) fn chosen(knob: &str, machine: &mut dyn Look, at: &Selection) -> Result<Vec<u32>, KnobError> {
    let all = present(machine);
    let nothing = |site: &str| KnobError::NoSite {
        knob: knob.to_owned(),
        site: site.to_owned(),
        there: all.as_slice().iter().map(|number| format!("cpu{number}")).collect(),
    };
    let wanted: Option<CpuList> = match at.site.as_deref() {
        None | Some("-") => at.cpus.clone(),
        Some(site) => Some(parse_cpus(site).ok_or_else(|| nothing(site))?),
    };
    let Some(wanted) = wanted else { return Ok(all.as_slice().to_vec()) };
    let found: Vec<u32> = all.as_slice().iter().copied().filter(|&number| wanted.contains(number)).collect();
    if found.is_empty() { Err(nothing(&format!("cpu{wanted}"))) } else { Ok(found) }
}
