//! The sentence of every error, and which right each path takes.
use super::*;

/// One of each variant, and of each way its sentence goes.
fn all() -> Vec<KnobError> {
    let text = |text: &str| text.to_owned();
    let (knob, site, asked) = (text("cpufreq.governor"), text("policy3"), text("performance"));
    let sites = |count: u32| (0..count).map(|number| format!("policy{number}")).collect();
    let refused = |errno, changed_to: Option<&str>| KnobError::Refused {
        knob: knob.clone(),
        site: site.clone(),
        asked: asked.clone(),
        errno,
        advice: advice(None, None, errno, Some("/sys/devices/system/cpu/cpufreq/policy3/scaling_governor")),
        changed_to: changed_to.map(Into::into),
    };
    let machine = |machines: &[&str]| KnobError::Machine {
        knob: text("db1/governor"),
        name: text("governor"),
        machines: machines.iter().map(|name| text(name)).collect(),
    };
    let incomplete = |cause, open| KnobError::CannotRestore {
        cause: Box::new(cause),
        left: vec![text("epp at policy0 (EBUSY)")],
        open,
    };
    let setter = Refusal { class: ErrorClass::Denied, why: text("the agent may not") };
    let no_site = |count| KnobError::NoSite { knob: knob.clone(), site: text("policy99"), there: sites(count) };
    let unreadable = |path: &str, errno| KnobError::Unreadable { knob: knob.clone(), path: text(path), errno };
    vec![
        KnobError::Unknown { name: text("govenor"), nearest: Some(text("governor")) },
        KnobError::Unknown { name: text("x"), nearest: None },
        KnobError::OfLoad(text("ranks")),
        KnobError::Ambiguous {
            name: text("up_threshold"),
            names: vec![text("ondemand.up_threshold"), text("conservative.up_threshold")],
        },
        KnobError::absent("cpufreq.boost", "this driver has none"),
        no_site(0),
        no_site(1),
        no_site(3),
        no_site(9),
        KnobError::value("cpufreq.max_freq", "2400 kHz is too low"),
        KnobError::Twice { knob: knob.clone(), site: site.clone() },
        KnobError::NeedsFirst {
            knob: knob.clone(),
            needs: "userspace",
            site: site.clone(),
            found: text("ondemand"),
            hint: text("governor=userspace freq=2GHz together"),
        },
        unreadable("/sys/devices/system/cpu/cpu3/cpuidle/state2/disable", Errno::EACCES),
        unreadable("/proc/sys/vm/swappiness", Errno::EPERM),
        unreadable("/etc/app.conf", Errno::EACCES),
        unreadable("/sys/class/net/eth0/mtu", Errno::EROFS),
        unreadable("", Errno::EPERM),
        unreadable("/sys/class/net/eth0/mtu", Errno::EIO),
        refused(Errno::EINVAL, None),
        refused(Errno::EACCES, Some("powersave")),
        refused(Errno::EBUSY, None),
        KnobError::NotTaken { knob: knob.clone(), site: site.clone(), asked: asked.clone(), reads: text("powersave") },
        KnobError::Ignored { knob: knob.clone(), site: site.clone(), asked: asked.clone(), reads: text("powersave") },
        KnobError::Command { knob: knob.clone(), asked: asked.clone(), why: text("it ended with 1") },
        machine(&[]),
        machine(&["db1", "db2"]),
        KnobError::OfLoad(text("ranks")).on(Side::Node(powerband_record::NodeName::new("db2").unwrap())),
        KnobError::OfLoad(text("ranks")).on(Side::Near),
        KnobError::Setter(setter),
        incomplete(refused(Errno::EINVAL, None), true),
        incomplete(refused(Errno::EINVAL, Some("powersave")), false),
    ]
}

#[test]
fn every_error_is_a_sentence_with_what_to_do() {
    let told = all().into_iter().map(|error| {
        let refusal = error.refusal();
        assert_eq!(KnobError::Setter(refusal).kind(), error.kind(), "{error}");
        format!("{:?}: {error}\n", error.kind())
    });
    insta::assert_snapshot!("errors", told.collect::<String>());
}
