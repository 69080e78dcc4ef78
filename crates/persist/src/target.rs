//! The knob that is asked about: its sites with every name of their files, and what reads there now.
use powerband_knob::{Named, Policies, Site, Value, policies};
use powerband_machine::{CoalescingPlace, ErrorRecorder, Look, ReadFailure};
use powerband_record::CpuList;
use powerband_sysfs::{cpufreq, cpufreq::CPUFREQ, topology::CPU_BUS};

use crate::glob;

/// One site.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) site: Site,
    /// What reads there; `None` when it cannot be read.
    pub(crate) reads: Option<String>,
    /// Which file cannot be read, and why.
    pub(crate) unread: Option<String>,
    /// Every path of its file.
    paths: Vec<String>,
}

/// A knob at its sites.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) named: Named,
    pub(crate) places: Vec<Place>,
    /// The cpufreq driver, where there is one.
    pub(crate) driver: Option<String>,
    /// The governors offered; empty when the kernel does not say.
    pub(crate) governors: Vec<String>,
    /// What of the driver and its governors could not be read.
    pub(crate) unread: Vec<ReadFailure>,
}

impl Target {
    pub(crate) fn new(named: Named, sites: Vec<Site>, machine: &mut dyn Look) -> Target {
        let all = policies(machine, &named.name).unwrap_or_default();
        let first = all.active.first().cloned();
        let mut error_recorder = ErrorRecorder::new(machine);
        let driver = first.as_ref().and_then(|policy| policy.read(&mut error_recorder, "scaling_driver").ok());
        let governors = first.as_ref().and_then(|policy| policy.governors(&mut error_recorder)).unwrap_or_default();
        let unread = error_recorder.into_failures();
        let places = sites.into_iter().map(|site| {
            let (reads, unread) = match site.path.as_ref().map(|path| (path, machine.read(path))) {
                Some((_, Ok(text))) => (Some(text.trim().to_owned()), None),
                Some((path, Err(errno))) => (None, Some(format!("{path}: {errno}"))),
                None => (None, None),
            };
            Place { paths: paths(&site, &all), site, reads, unread }
        });
        Target { places: places.collect(), named, driver, governors, unread }
    }

    /// Canonical name.
    pub(crate) fn name(&self) -> &str {
        &self.named.name
    }

    /// Whether it is the governor.
    pub(crate) fn is_governor(&self) -> bool {
        self.name() == "cpufreq.governor"
    }

    /// Whether it belongs to the clock of CPUs.
    pub(crate) fn is_of_the_clock(&self) -> bool {
        self.is_governor() || self.name().starts_with("cpufreq.") || self.named.knob.governor().is_some()
    }

    /// What `ethtool -C` calls it.
    pub(crate) fn parameter(&self) -> Option<&str> {
        self.name().strip_prefix("nic.")
    }

    /// Names of all its sites.
    pub(crate) fn everywhere(&self) -> Vec<String> {
        self.at(|_| true)
    }

    /// Names of the sites that any path of `pattern` means.
    pub(crate) fn at_path(&self, pattern: &str) -> Vec<String> {
        let pattern = pattern.replace("//", "/");
        // A name that is nothing but a variable may be any file.
        let name = pattern.rsplit('/').next().unwrap_or_default();
        if name.chars().all(|c| matches!(c, '*' | '?')) {
            return Vec::new();
        }
        self.at(|place| place.paths.iter().any(|path| glob::matches(&pattern, path)))
    }

    /// Names of the sites whose file ends so, on devices of these kernel names.
    pub(crate) fn at_attribute(&self, attribute: &str, kernel_name: Option<&str>) -> Vec<String> {
        let tail = format!("/{attribute}");
        let on = |device: &str| {
            let name = device.rsplit('/').next().unwrap_or_default();
            kernel_name.is_none_or(|patterns| patterns.split('|').any(|pattern| glob::matches(pattern, name)))
        };
        self.at(|place| place.paths.iter().filter_map(|path| path.strip_suffix(&tail)).any(on))
    }

    /// Names of the sites that these CPUs belong to.
    pub(crate) fn at_cpus(&self, cpus: &CpuList) -> Vec<String> {
        let touches = |place: &Place| {
            place.site.policy.as_ref().is_none_or(|policy| policy.cpus.as_slice().iter().any(|cpu| cpus.contains(*cpu)))
        };
        self.at(touches)
    }

    /// Names of the sites that are network devices a pattern means.
    pub(crate) fn at_device(&self, pattern: &str) -> Vec<String> {
        self.at(|place| glob::matches(pattern, &place.site.name))
    }

    fn at(&self, is: impl Fn(&Place) -> bool) -> Vec<String> {
        self.places.iter().filter(|place| is(place)).map(|place| place.site.name.clone()).collect()
    }

    /// A value as it is typed, where the knob takes it.
    pub(crate) fn typed(&self, machine: &mut dyn Look, text: &str) -> String {
        let text = text.trim();
        let site = self.places.first().map(|place| &place.site);
        let parsed = site.and_then(|site| self.named.knob.parse(&self.named.name, text, machine, site).ok());
        parsed.map_or_else(|| text.to_owned(), |value| value.typed())
    }

    /// Whether what reads at a place is this value.
    pub(crate) fn reads(&self, place: &Place, value: &str) -> bool {
        let value = Value::Text(value.to_owned());
        place.reads.as_ref().is_some_and(|reads| self.named.knob.same(&value, reads))
    }
}

/// Every path that leads to a site's file: that of its policy, and that of each CPU the policy drives.
fn paths(site: &Site, all: &Policies) -> Vec<String> {
    let Some(path) = site.path.clone().filter(|path| CoalescingPlace::of(path).is_none()) else { return Vec::new() };
    let mut paths = vec![path.clone()];
    let inside = |folder: &str| path.strip_prefix(folder).filter(|rest| rest.starts_with('/'));
    let found = all.active.iter().find_map(|policy| Some((policy, inside(&policy.folder)?)));
    if let Some((policy, rest)) = found {
        paths.push(format!("{CPUFREQ}/{}{rest}", policy.name));
        for cpu in policy.cpus.as_slice() {
            paths.push(format!("{}{rest}", cpufreq::of_cpu(*cpu)));
            paths.push(format!("{CPU_BUS}/cpu{cpu}/cpufreq{rest}"));
        }
    }
    paths.dedup();
    paths
}
