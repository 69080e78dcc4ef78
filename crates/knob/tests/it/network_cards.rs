//! Interrupt coalescing: which devices have a parameter, what is set together, what overrides what, and all of it back.
use powerband_knob::{
    Beside, KnobError, Landed, Selection, apply, describe_steps, expand, get, plan, probe, restore, settles_ns, verify,
};
use powerband_machine::{Change, Coalescing, Errno, Hold};
use powerband_record::{Axis, KnobRef, Setting};

use crate::fake::{Fake, bare};

fn coalescing(values: &[(&str, u32)]) -> Coalescing {
    Coalescing(values.iter().map(|&(name, value)| (name.to_owned(), value)).collect())
}

/// Two cards, one of which adapts by itself, and a loopback.
fn two_cards() -> Fake {
    let mut fake = bare();
    let devices = "heading\nheading\n    lo: 0\n  eth0: 0\n  eth1: 0\n";
    fake.files.insert("/proc/net/dev".into(), devices.into());
    fake.files.insert("/sys/class/net/eth0/carrier".into(), "1\n".into());
    let eth0 = [("rx-usecs", 3), ("rx-frames", 0), ("tx-usecs", 8), ("adaptive-rx", 1), ("adaptive-tx", 0)];
    fake.cards.insert("eth0".into(), coalescing(&eth0));
    fake.cards.insert("eth1".into(), coalescing(&[("rx-frames", 4)]));
    fake
}

fn setting(text: &str) -> Setting {
    Setting::parse(text).unwrap()
}

#[test]
fn its_sites_are_the_devices_whose_drivers_have_it() {
    let mut fake = two_cards();
    let mut sites = |knob: &str| -> Vec<(String, Option<String>)> {
        let knob = KnobRef::parse(knob).unwrap();
        let readings = get(&mut fake, &knob, &Selection::everywhere()).unwrap();
        readings.into_iter().map(|reading| (reading.site, reading.value)).collect()
    };
    let at = |device: &str, value: &str| (device.to_owned(), Some(value.to_owned()));
    assert_eq!(sites("rx-frames"), [at("eth0", "0"), at("eth1", "4")]);
    assert_eq!(sites("adaptive-rx"), [at("eth0", "on")]);
    assert_eq!(sites("nic.rx_frames@eth1"), [at("eth1", "4")]);
    let absent = plan(&setting("cqe-mode-rx=on"), &mut fake, &Selection::everywhere()).unwrap_err().to_string();
    assert!(absent.contains("that of eth1 has rx-frames"), "{absent}");
    let nowhere = plan(&setting("rx-usecs@eth7=1"), &mut fake, &Selection::everywhere()).unwrap_err();
    assert_eq!(
        nowhere,
        KnobError::NoSite { knob: "nic.rx-usecs".into(), site: "eth7".into(), there: vec!["eth0".into()] }
    );
    let none = plan(&setting("rx-usecs=1"), &mut bare(), &Selection::everywhere()).unwrap_err().to_string();
    assert!(none.contains("there is no network device"), "{none}");
}

#[test]
fn what_belongs_to_one_device_is_one_request_and_what_overrides_it_is_switched_off() {
    let mut fake = two_cards();
    let before = fake.cards.clone();
    let wanted = setting("rx-usecs@eth0=20 tx-usecs@eth0=8 rx-frames=7");
    let steps = plan(&wanted, &mut fake, &Selection::everywhere()).unwrap();
    let told = describe_steps(&steps);
    assert!(told.iter().any(|line| line == "nic.adaptive-rx at eth0: on → off"), "{told:?}");
    assert!(told.iter().any(|line| line.contains("is on and would override nic.rx-usecs")), "{told:?}");
    let applied = apply(&mut fake, &wanted, Hold::Held, &Selection::everywhere()).unwrap();
    let asked =
        [coalescing(&[("adaptive-rx", 0), ("rx-frames", 7), ("rx-usecs", 20)]), coalescing(&[("rx-frames", 7)])];
    assert_eq!(fake.requests, asked);
    assert_eq!((applied.sites.len(), applied.entries.len(), &applied.links[..]), (5, 2, &["eth0".to_owned()][..]));
    assert!(applied.inexact().is_empty() && verify(&mut fake, &applied).is_empty());
    assert!(applied.links_are_back(&mut fake));
    fake.files.insert("/sys/class/net/eth0/carrier".into(), "0\n".into());
    assert!(!applied.links_are_back(&mut fake));
    let restored = restore(&mut fake, &applied.entries, false);
    assert!(restored.complete() && restored.undone == 2, "{restored:?}");
    assert_eq!(fake.cards, before);
}

#[test]
fn who_turns_the_switch_decides_it() {
    let mut fake = two_cards();
    let wanted = setting("rx-usecs@eth0=20 adaptive-rx=on");
    let applied = apply(&mut fake, &wanted, Hold::Held, &Selection::everywhere()).unwrap();
    assert_eq!((fake.cards["eth0"].get("adaptive-rx"), applied.notes.len()), (Some(1), 0));
    let already = applied.sites.iter().find(|site| site.named.name == "nic.adaptive-rx").unwrap();
    assert_eq!(already.landed, Landed::Already);
}

#[test]
fn a_value_the_driver_changes_is_told_and_one_it_refuses_changes_nothing() {
    let mut fake = two_cards();
    let before = fake.cards.clone();
    let applied = apply(&mut fake, &setting("rx-usecs@eth0=250"), Hold::Set, &Selection::everywhere()).unwrap();
    let landed: Vec<String> = applied.sites.iter().map(|site| site.landed.to_string()).collect();
    assert_eq!(landed, ["clamped to 100", "applied"]);
    restore(&mut fake, &applied.entries, false);
    assert_eq!(fake.cards, before);
    let refused = apply(&mut fake, &setting("tx-frames@eth0=1 rx-frames=2"), Hold::Set, &Selection::everywhere());
    assert!(matches!(refused, Err(KnobError::Refused { errno: Errno::EINVAL, .. })), "{refused:?}");
    assert!(fake.cards == before && fake.open_entries().is_empty());
    for wrong in ["rx-frames=-1", "rx-frames=4294967296", "adaptive-rx=maybe"] {
        let wrong = plan(&setting(wrong), &mut fake, &Selection::everywhere());
        assert!(matches!(wrong, Err(KnobError::Value { .. })), "{wrong:?}");
    }
}

#[test]
fn somebody_elses_hand_on_one_of_several_is_seen() {
    let mut fake = two_cards();
    let applied =
        apply(&mut fake, &setting("tx-usecs=9 rx-frames@eth0=2"), Hold::Set, &Selection::everywhere()).unwrap();
    fake.cards.get_mut("eth0").unwrap().0.insert("tx-usecs".into(), 50);
    assert_eq!(verify(&mut fake, &applied)[0].knob, "nic.tx-usecs");
    let restored = restore(&mut fake, &applied.entries, false);
    assert_eq!(restored.foreign.len(), 1, "{restored:?}");
    let restored = restore(&mut fake, &applied.entries, true);
    assert!(restored.complete() && fake.cards == two_cards().cards, "{restored:?}");
}

#[test]
fn axes_list_and_cards_settle_longer() {
    let mut fake = two_cards();
    let axis = Axis::parse("adaptive-rx=all").unwrap();
    let values = expand(&axis, &mut fake, &Selection::everywhere(), &Beside::default()).unwrap().values;
    assert_eq!(values.iter().map(ToString::to_string).collect::<Vec<_>>(), ["off", "on"]);
    assert_eq!(settles_ns(&setting("rx-usecs=20 governor=ondemand")), 3_000_000_000);
    assert_eq!(settles_ns(&setting("governor=ondemand")), 1_000_000_000);
}

#[test]
fn probing_finds_what_a_driver_takes_and_leaves_everything_as_it_was() {
    let mut fake = bare();
    fake.files.insert("/proc/net/dev".into(), "a\nb\n  eth0: 0\n".into());
    let has = [("rx-usecs", 7), ("rx-frames", 3), ("adaptive-rx", 1)].map(|(name, value)| (name.to_owned(), value));
    fake.cards.insert("eth0".into(), Coalescing(has.into()));
    let found = probe(&mut fake, None).unwrap();
    let [eth0] = &found[..] else { panic!("{found:?}") };
    assert_eq!((eth0.device.as_str(), &eth0.switched_off[..]), ("eth0", &["adaptive-rx"][..]));
    let [usecs, frames] = &eth0.parameters[..] else { panic!("{eth0:?}") };
    assert_eq!(
        (usecs.name, &usecs.takes[..], usecs.clamped_to, usecs.step),
        ("rx-usecs", &[(0, 100)][..], Some(100), Some(1))
    );
    assert!(frames.is_open() && frames.value == 3);
    assert!(fake.requests.iter().all(|request| request.get("adaptive-rx").is_some()));
    let now: Vec<u32> =
        ["rx-usecs", "rx-frames", "adaptive-rx"].iter().map(|name| fake.cards["eth0"].get(name).unwrap()).collect();
    assert_eq!(now, [7, 3, 1]);
    assert!(fake.open_entries().is_empty());
}
