//! The policy: what is understood, and the sentence for what is not.
use super::*;

fn parse(text: &str) -> Result<Policy, PolicyError> {
    let user = |name: &str| (name == "alice").then_some(1001);
    let group = |name: &str| (name == "hpc").then_some(2000);
    Policy::parse(text, "access.toml", &Names { user: &user, group: &group })
}

const GOOD: &str = r#"
# Comments are fine.
[[allow]]
users = ["alice", 1002]
groups = ["hpc"]
cpus = "all"
[allow.knobs]
"cpufreq.governor" = ["performance", "powersave"]
max_freq = "1.2GHz..2.6GHz"
"cpuidle.*" = "any"
"sysctl.kernel.numa_balancing" = [0, 1]
"file:/etc/app.conf" = "any"

[[allow]]
users = [7]
knobs = { "cpufreq.boost" = 1 }
"#;

#[test]
fn users_and_groups_have_their_rules() {
    let policy = parse(GOOD).unwrap();
    for (uid, groups, lines) in [(1001, &[][..], 5), (1002, &[], 5), (5, &[3, 2000], 5), (7, &[], 1), (7, &[2000], 6)] {
        assert_eq!(policy.granted(uid, groups).lines().len(), lines, "{uid} {groups:?}");
    }
    assert!(policy.granted(5, &[1001, 7]).is_empty());
    let lines = policy.granted(1001, &[]).lines().join("\n");
    assert!(lines.contains("cpufreq.max_freq: 1.2GHz..2.6GHz, on all CPUs"), "{lines}");
    assert_eq!(policy.granted(7, &[]).lines(), ["cpufreq.boost: 1, on the CPUs of your job"]);
    let of_job = parse("[[allow]]\nusers = [7]\nknobs = { \"sysctl.vm.swappiness\" = 1 }\n").unwrap().granted(7, &[]);
    assert!(of_job.lines()[0].contains("that takes cpus = \"all\""), "{:?}", of_job.lines());
}

#[test]
fn a_wildcard_covers_knobs_of_the_catalogue_alone() {
    let policy = parse(GOOD).unwrap();
    let granted = policy.granted(1001, &[]);
    let may = |name: &str| granted.check_name(&resolve(name).unwrap()).is_ok();
    assert!(may("cpuidle.disable") && may("cpufreq.governor") && may("sysctl.kernel.numa_balancing"));
    for name in [
        "cpufreq.min_freq",
        "sysctl.kernel.core_pattern",
        "sysctl.kernel/numa_balancing",
        "file:/etc/app.conf2",
        "file:/etc/../etc/app.conf",
        "file:/etc//app.conf",
        "module.kvm.halt_poll_ns",
        "cgroup.cpu_quota",
    ] {
        assert!(!may(name), "{name}");
    }
}

#[test]
fn a_slip_is_told_with_its_line() {
    let with = |knobs: &str| format!("[[allow]]\nusers = [1]\n[allow.knobs]\n{knobs}\n");
    for (text, line, words) in [
        (with("\"cpufreq.govenor\" = \"any\""), 4, "did you mean"),
        (with("\"cpufreq.max_freq\" = \"2GHz..1GHz\""), 4, "ends below"),
        (with("\"cpufreq.max_freq\" = \"x..1GHz\""), 4, "cpufreq.max_freq"),
        (with("\"sysctl.*\" = \"any\""), 4, "name each of them in full"),
        (with("\"sysctl.kernel.*\" = \"any\""), 4, "name each of them in full"),
        (with("\"module.*\" = \"any\""), 4, "name each of them in full"),
        (with("\"*\" = \"any\""), 4, "at the end"),
        (with("\"cgroup.*\" = \"any\""), 4, "cannot be set on behalf"),
        (with("\"cgroup.cpu_quota\" = \"any\""), 4, "cannot be set on behalf"),
        (with("\"file:/etc/../x\" = \"any\""), 4, "whole path"),
        (with("\"file:\" = \"any\""), 4, "not a knob"),
        (with("\"sysctl.kernel..x\" = \"any\""), 4, "whole name"),
        (with("\"up_threshold\" = \"any\""), 4, "full name"),
        (with("\"cpufreq.governor\" = []"), 4, "empty"),
        (with("\"cpufreq.governor\" = [\"any\"]"), 4, "alone"),
        (with("\"cpufreq.governor\" = 1.5"), 4, "range"),
        ("[[allow]]\nusers = [\"bob\"]\nknobs = { governor = \"any\" }".into(), 2, "no user 'bob'"),
        ("[[allow]]\nusers = [1]\ngroups = [\"x\"]\nknobs = { governor = \"any\" }".into(), 3, "no group 'x'"),
        ("\n[[allow]]\nknobs = { governor = \"any\" }".into(), 2, "no users"),
        ("[[allow]]\nusers = [1]\nknobs = {}".into(), 1, "no knobs"),
        ("[[allow]]\nusers = [1]\nknobs = [\"cpufreq.governor\"]".into(), 3, "write [allow.knobs]"),
        ("[[allow]]\nusers = [1]\ncpus = \"0-3\"\nknobs = { governor = \"any\" }".into(), 3, "\"job\" or \"all\""),
        ("[[allow]]\nusers = [-1]\nknobs = { governor = \"any\" }".into(), 2, "a name or a number"),
        ("[[allow]]\nuser = [1]\nknobs = { governor = \"any\" }".into(), 2, "user"),
        ("[[deny]]\n".into(), 1, "deny"),
        ("x = [".into(), 1, ""),
    ] {
        let error = parse(&text).expect_err(&text);
        assert!(error.line == line && error.why.contains(words), "{text}\n{error}");
        assert!(error.to_string().starts_with(&format!("access.toml:{line}: ")), "{error}");
    }
}

#[test]
fn an_empty_policy_lets_nobody_set_anything() {
    assert!(parse("").unwrap().granted(0, &[0]).is_empty());
}
