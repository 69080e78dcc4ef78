//! Calibrations of a real load, and of a plan that is interrupted.
use rustix::process::Signal;

use crate::desk::{Desk, until};

/// Finished trials of the second experiment; none before there is one.
fn finished(desk: &Desk) -> i64 {
    let Ok(store) = rusqlite::Connection::open(desk.state().join("powerband.sqlite")) else { return 0 };
    let sql = "SELECT count(*) FROM trial WHERE state <> 'running' AND experiment = 2";
    store.query_row(sql, [], |row| row.get(0)).unwrap_or(0)
}

#[test]
fn a_plan_goes_on_with_the_margin_it_began_with() {
    let (whole, desk) = (Desk::new(), Desk::new());
    let plan = desk.beside("plan.toml");
    // So low an error rate that it takes long.
    let text = "settings = [\"a:\", \"b:\"]\nmachine = \"sim:quadcore\"\nblocks = 60\nalpha = \"0.000001%\"\n[load]\nkind = \"counter\"\nfor = \"1s\"\n";
    std::fs::write(&plan, text).unwrap();
    let plan = plan.to_str().unwrap();
    let calibrate = ["--machine", "sim:quadcore", "calibrate", "--load", "counter", "--for", "1s"];
    for desk in [&whole, &desk] {
        desk.run(&calibrate).ended(0);
    }
    assert_eq!(whole.json(&["run", plan])["margin_source"], "calibration");
    let running = desk.start(&["run", plan]);
    until("a few trials are finished", || finished(&desk) >= 5);
    running.signal(Signal::INT);
    running.end().ended(130);
    // Somebody calibrates anew, and finds other noise, before it is gone on with.
    desk.run(&[&["--seed", "77"], &calibrate[..]].concat()).ended(0);
    desk.run(&["resume", "2"]).ended(0);
    let text = desk.run(&["export", "2", "--journal"]).ended(0).out;
    assert!(text.lines().skip(1).eq(whole.journal()), "not what it would have been without the interruption");
}

#[test]
fn a_real_loop_is_calibrated() {
    let desk = Desk::new();
    let count = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let report = desk.json(&["calibrate", "--trials", "24", "--settle", "0", "--", "sh", "-c", count]);
    assert_eq!(report["trials"], 24);
    let rows = report["calibration"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"] == "real_s").unwrap();
    assert_eq!(row["false_alarm"]["runs"], 500);
    assert!(row["false_alarm"]["low"].as_f64().unwrap() <= 0.25, "{row}");
    assert!(row["sigma"].as_f64().unwrap() > 0.0 && row["judged"] == true && row["unit"] == "s");
    assert_eq!(report["restored"]["entries"], 0, "nothing is changed");
}
