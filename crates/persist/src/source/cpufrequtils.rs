//! cpufrequtils of Debian: a script with defaults of its own, and /etc/default/cpufrequtils over them.
use crate::finding::BootStanding;
use crate::keys::last;
use crate::scene::{Scene, of_service};

const CONFIG: &str = "/etc/default/cpufrequtils";

pub(super) fn look(scene: &mut Scene<'_>) {
    let name = match scene.target.name() {
        "cpufreq.governor" => "GOVERNOR",
        "cpufreq.min_freq" => "MIN_SPEED",
        "cpufreq.max_freq" => "MAX_SPEED",
        _ => return,
    };
    let service = scene.service("cpufrequtils");
    let own = scene.keys(CONFIG);
    if !service.is_there() && own.is_empty() {
        return;
    }
    let script = scene.services().script("cpufrequtils").path;
    let defaults = if script.is_empty() { Vec::new() } else { scene.keys(&script) };
    let (path, key) = match (last(&own, name), last(&defaults, name)) {
        (Some(key), _) => (CONFIG.to_owned(), key),
        (None, Some(key)) => (script, key),
        (None, None) => return,
    };
    // Zero stands for no limit.
    if key.value.is_empty() || (name != "GOVERNOR" && key.value == "0") {
        return;
    }
    let mut finding = of_service("cpufrequtils", &service).line(key.line, &key.text);
    finding.path = path;
    if last(&own, "ENABLE").or(last(&defaults, "ENABLE")).is_some_and(|enable| enable.value != "true") {
        finding = finding.standing(BootStanding::Off { why: format!("{CONFIG} does not say ENABLE=true") });
    }
    let sites = scene.target.everywhere();
    scene.push(finding.sets(vec![key.value.clone()], sites));
}
