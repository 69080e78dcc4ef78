//! The report of every plan in `plans/`, in every form, and what holds of each: its journal has the bytes it had, the short form fits
//! a terminal.
use std::collections::BTreeSet;
use std::fs;

use crate::desk::{Desk, workspace};
use crate::journal_hash::{known_journals, line};
use crate::normal;
use crate::terminal::fits;

/// Every form of the report of the last experiment.
pub(crate) fn forms(desk: &Desk) -> String {
    let print = |line: &str| desk.run(line).well();
    let forms = [
        ("show", normal::report(&print("show"))),
        ("show -v", normal::report(&print("show -v"))),
        ("export --format md", print("export --format md")),
        ("export --format csv", normal::csv(&print("export --format csv"))),
        ("export --format json", normal::json(&print("export --format json"))),
        ("report -o -", normal::page(&print("report -o -"))),
    ];
    forms.map(|(line, text)| format!("$ powerband {line}\n{}\n", text.trim_end())).join("\n")
}

/// Checks a plan's experiment as it was printed and kept.
#[track_caller]
fn holds(plan: &str, desk: &Desk) {
    fits(&desk.run("show").well(), |line| {
        let ran = desk.run(line);
        (ran.code, ran.err)
    });
    let events: Vec<String> = desk.run("export 1 --journal").well().lines().skip(1).map(str::to_owned).collect();
    let (found, known) = (line(plan, 1, &events), fs::read_to_string(known_journals()).unwrap());
    assert!(
        known.lines().any(|line| line == found),
        "its journal is another one than expected/journals.txt has: {found}"
    );
}

/// Plans that take more than three seconds of a CPU each: they are looked at where their article is repeated.
const LONG: [&str; 3] = ["governors-ladder", "governors-shop-1000", "governors-shop-2000"];

macro_rules! plans {
    ($($name:ident: $($plan:literal)*;)*) => {
        const HELD: &[&str] = &[$($($plan),*),*];
        $(
            #[test]
            fn $name() {
                for plan in [$($plan),*] {
                    let desk = Desk::new();
                    desk.run(&format!("run plans/{plan}.toml")).well();
                    insta::assert_snapshot!(format!("plan_{plan}"), forms(&desk));
                    holds(plan, &desk);
                }
            }
        )*
    };
}

plans! {
    coalesce_latency: "coalesce" "coalesce-ping" "coalesce-usecs";
    coalesce_throughput: "coalesce-segment-128" "coalesce-segment-512" "coalesce-size-1448" "coalesce-size-512" "coalesce-size-64"
        "coalesce-stream" "coalesce-window" "coalesce-write-128";
    counter: "counter" "counter-idle" "fleet-frequency";
    governors_gathered: "governors-gathered";
    governors_shop: "governors-shop-500";
    governors_smt: "governors-smt";
    mpi: "mpi-four-nodes" "mpi-idle" "mpi-two-nodes";
    mpi_governors: "mpi-governors";
    background: "ping-background" "wake-background";
    router: "router" "router-board" "router-busy" "router-clients" "router-idle";
}

#[test]
fn every_plan_is_here() {
    let names = fs::read_dir(workspace().join("plans")).unwrap().map(|entry| entry.unwrap().file_name());
    let plans: BTreeSet<String> =
        names.filter_map(|name| name.to_str()?.strip_suffix(".toml").map(str::to_owned)).collect();
    let held: BTreeSet<String> = HELD.iter().chain(&LONG).map(|name| (*name).to_owned()).collect();
    assert_eq!(held, plans);
}
