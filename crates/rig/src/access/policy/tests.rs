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
    let all: [(u32, &[u32], usize); 5] =
        [(1001, &[], 5), (1002, &[], 5), (5, &[3, 2000], 5), (7, &[], 1), (7, &[2000], 6)];
    for (uid, groups, lines) in all {
        assert_eq!(policy.granted(uid, groups).lines().len(), lines, "{uid} {groups:?}");
    }
    assert!(policy.granted(5, &[1001, 7]).is_empty());
    let of_job = parse("[[allow]]\nusers = [7]\nknobs = { \"sysctl.vm.swappiness\" = 1 }\n").unwrap();
    let granted = [policy.granted(7, &[2000]), of_job.granted(7, &[])].map(|it| it.lines().join("\n"));
    insta::assert_snapshot!("granted", granted.join("\n\n"));
}

#[test]
fn a_wildcard_covers_knobs_of_the_catalogue_alone() {
    let policy = parse(GOOD).unwrap();
    let granted = policy.granted(1001, &[]);
    let may = |name: &str| granted.check_name(&resolve(name).unwrap()).is_ok();
    assert!(may("cpuidle.disable") && may("cpufreq.governor") && may("sysctl.kernel.numa_balancing"));
    let others = "cpufreq.min_freq sysctl.kernel.core_pattern sysctl.kernel/numa_balancing file:/etc/app.conf2 \
                  file:/etc/../etc/app.conf file:/etc//app.conf module.kvm.halt_poll_ns cgroup.cpu_quota";
    for name in others.split(' ') {
        assert!(!may(name), "{name}");
    }
}

#[test]
fn a_slip_is_told_with_its_line() {
    let mut told = String::new();
    for (number, slip) in include_str!("tests/slips.txt").split("----\n").enumerate() {
        // A line alone is one of [allow.knobs].
        let alone = format!("[[allow]]\nusers = [1]\n[allow.knobs]\n{slip}");
        let text = if slip.starts_with('"') { &alone } else { slip };
        let answer = parse(text).map(|policy| policy.warnings.join("; "));
        told += &format!("{number}: {}\n", answer.unwrap_or_else(|error| error.to_string()));
    }
    insta::assert_snapshot!("slips", told);
}

#[test]
fn an_empty_policy_lets_nobody_set_anything() {
    assert!(parse("").unwrap().granted(0, &[0]).is_empty());
}
