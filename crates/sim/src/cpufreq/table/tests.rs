//! Tables: order, relations, ties, inefficient entries.
use powerband_machine::Errno;

use super::{FrequencyTable, TableRelation};
use crate::cpufreq::config::{KernelRules, Step};

const ALL: (u32, u32) = (0, u32::MAX);

fn table(khz: &[u32]) -> FrequencyTable {
    FrequencyTable::new(khz.iter().map(|&k| Step::from(k)).collect(), KernelRules::V6_1).unwrap()
}

#[test]
fn an_entry_twice_is_refused() {
    let steps = vec![Step::from(1), Step::from(2), Step::from(1)];
    assert_eq!(FrequencyTable::new(steps, KernelRules::V6_1).unwrap_err(), Errno::EINVAL);
}

#[test]
fn relations_fall_back_to_the_other_side() {
    let t = table(&[100, 200, 300]);
    assert_eq!(t.resolve(150, ALL, TableRelation::AtLeast, false), Some(200));
    assert_eq!(t.resolve(150, ALL, TableRelation::AtMost, false), Some(100));
    assert_eq!(t.resolve(350, ALL, TableRelation::AtLeast, false), Some(300));
    assert_eq!(t.resolve(50, ALL, TableRelation::AtMost, false), Some(100));
    assert_eq!(t.resolve(260, ALL, TableRelation::Closest, false), Some(300));
}

#[test]
fn a_tie_depends_on_the_order() {
    let of = |khz: &[u32]| table(khz).resolve(250, ALL, TableRelation::Closest, false);
    assert_eq!(of(&[100, 200, 300]), Some(200));
    assert_eq!(of(&[300, 200, 100]), Some(300));
    assert_eq!(of(&[200, 300, 100]), Some(300));
}

#[test]
fn inefficient_entries_are_skipped_unless_the_limits_need_them() {
    let steps = [(100, false), (200, true), (300, false)];
    let steps = steps.map(|(khz, inefficient)| Step { khz, boost: false, inefficient }).to_vec();
    let t = FrequencyTable::new(steps, KernelRules::V6_1).unwrap();
    assert_eq!(t.resolve(150, ALL, TableRelation::AtLeast, true), Some(300));
    assert_eq!(t.resolve(150, ALL, TableRelation::AtLeast, false), Some(200));
    assert_eq!(t.resolve(150, (100, 200), TableRelation::AtLeast, true), Some(200));
}

#[test]
fn old_rules_and_unsorted_tables_look_only_within_the_limits() {
    let steps: Vec<Step> = [100, 200, 300].into_iter().map(Step::from).collect();
    let old = FrequencyTable::new(steps, KernelRules::V2_6_18).unwrap();
    assert_eq!(old.resolve(250, (120, 250), TableRelation::AtLeast, false), Some(200));
    assert_eq!(old.resolve(250, (210, 250), TableRelation::AtLeast, false), None);
    let unsorted = table(&[200, 100, 300]);
    assert_eq!(unsorted.resolve(250, (120, 250), TableRelation::AtLeast, false), Some(200));
}
