//! Plans changed so that a claim must fail: what the plan says is needed for it.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use powerband_report::replication::{ClaimOutcome, Evidence, Replication};

use super::{Stop, articles, observed};
use crate::Options;

/// What becomes of a claim on the server's ladder, five blocks of it, with one line of its plan changed.
fn on_ladder(claim: &str, from: &str, to: &str) -> ClaimOutcome {
    const PLAN: &str = "governors-ladder";
    let text = articles::plan(PLAN).unwrap();
    assert!(text.contains(from), "{from}");
    let stop: Stop = Arc::new(Mutex::new(|| None));
    let (options, shown) = (Options::default(), Box::new(|_: &_| {}));
    let observed = observed((PLAN, &text.replace(from, to)), Some(5), &options, &stop, shown).unwrap();
    let evidence = Evidence { runs: BTreeMap::from([(PLAN.to_owned(), observed)]), ..Evidence::default() };
    let published = articles::named("governors").unwrap().published().unwrap();
    let claims = Replication::of("governors-x3650", &published, &evidence).claims;
    claims.iter().find(|it| it.id == claim).unwrap().holds
}

#[test]
fn a_ladder_calibrated_at_the_reference_does_not_show_cpuspeed_first() {
    // That it holds with the plan as it is, the command's tests see.
    let claim = "ladder-default-best-userspace";
    assert_ne!(on_ladder(claim, "calibrate = \"each\"", "calibrate = \"reference\""), ClaimOutcome::Yes);
}
