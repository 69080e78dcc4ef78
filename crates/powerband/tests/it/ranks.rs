//! Ranks: the plan of the published MPI job against its figures, and by what ranks are started on this machine.
use std::fs;
use std::sync::LazyLock;

use powerband_record::Verdict;
use powerband_report::json::Report;

use crate::desk::{Desk, Ran, published, typical};

const PLAN: &str = "plans/mpi-governors.toml";

/// The plan under five seeds; what one seed shows may be luck.
static RUNS: LazyLock<Vec<Report>> = LazyLock::new(|| {
    let desk = Desk::new();
    (1..=5).map(|seed: u64| desk.report(&["--seed", &seed.to_string(), "run", PLAN])).collect()
});

fn over_runs(label: &str, metric: &str) -> f64 {
    RUNS.iter().map(|report| typical(report, label, metric)).sum::<f64>() / RUNS.len() as f64
}

fn verdict(report: &Report, label: &str) -> Verdict {
    let setting = report.settings.iter().find(|setting| setting.label == label).unwrap();
    setting.verdicts["real_s"].verdict
}

fn percent_more(label: &str, metric: &str) -> f64 {
    100.0 * (over_runs(label, metric) / over_runs("cpu0-performance", metric) - 1.0)
}

#[test]
fn powersave_on_one_cpu_costs_what_was_published() {
    let article = published("mpi-governors.toml");
    let claim = article.claims.iter().find(|claim| claim.id == "powersave-slowest").unwrap();
    let [least, most] = claim.figures["real_percent_more"][..] else { panic!("{:?}", claim.figures) };
    let longer = percent_more("cpu0-powersave", "real_s");
    assert!(longer > 0.95 * least && longer < 1.05 * most, "{longer:+.2} %, published {least} to {most} %");
    assert!(RUNS.iter().all(|report| verdict(report, "cpu0-powersave") == Verdict::Worse));
    // One straggler among 36 threads: what it loses is a 36th of that in user time.
    let user = percent_more("cpu0-powersave", "user_s");
    assert!((0.0..0.5).contains(&user), "{user:+.2} %");
    for result in &article.results {
        let ours = over_runs(&format!("cpu0-{}", result.governor.as_deref().unwrap()), "real_s");
        let theirs = result.values["real_s"][0];
        assert!((ours / theirs - 1.0).abs() < 0.01, "{}: {ours} s here, {theirs} s published", result.setting);
    }
}

#[test]
fn the_other_governors_are_alike() {
    for name in ["performance", "ondemand", "conservative", "schedutil"] {
        let label = format!("cpu0-{name}");
        let same = RUNS.iter().filter(|report| verdict(report, &label) == Verdict::Same).count();
        assert_eq!(same, RUNS.len(), "{label}");
    }
}

#[test]
fn powersave_on_all_cpus_takes_as_much_longer_as_the_clock_is_slower() {
    let factor = over_runs("all-powersave", "real_s") / over_runs("all-performance", "real_s");
    assert!((1.9..2.0).contains(&factor), "all but the start takes twice as long: {factor}");
    assert!(RUNS.iter().all(|report| verdict(report, "all-powersave") == Verdict::Worse));
}

/// Runs a small plan here whose ranks are to be started so.
fn here(desk: &Desk, mpirun: &str, path: Option<&str>) -> Ran {
    let plan = desk.beside("plan.toml");
    let text = format!(
        "settings = [\"a:\", \"b:\"]\nblocks = 1\nwarmup = 0\nsettle = \"0s\"\n[load]\nkind = \"primes\"\nranks = 4\n\
         limit = 100000\nmpirun = \"{mpirun}\"\n"
    );
    fs::write(&plan, text).unwrap();
    let mut command = desk.command(&["--json", "run", plan.to_str().unwrap()]);
    command.envs(path.map(|path| ("PATH", path)));
    Ran::of(&command.output().unwrap())
}

/// As [`here`], with nothing on the path.
fn without_mpirun(desk: &Desk, mpirun: &str) -> Ran {
    here(desk, mpirun, Some("/nowhere"))
}

#[test]
fn mpirun_that_is_asked_for_and_missing_is_said_before_anything_runs() {
    let Some(desk) = Desk::as_root() else { return };
    let why = without_mpirun(&desk, "always").refused(4);
    assert!(why.starts_with("there is no mpirun of Open MPI on local, "), "{why}");
    assert!(why.ends_with("install it (openmpi-bin on Debian), or write mpirun = \"auto\""), "{why}");
    assert_eq!(desk.experiments(), 0);
}

#[test]
fn without_mpirun_ranks_are_processes_and_the_journal_says_so() {
    let Some(desk) = Desk::as_root() else { return };
    let ran = without_mpirun(&desk, "auto").ended(0);
    assert!(
        ran.err.contains("the ranks are started as processes: there is no mpirun of Open MPI on local"),
        "{}",
        ran.err
    );
    let report = ran.report();
    let counted = |metric| typical(&report, "a", metric).round();
    assert_eq!((counted("primes"), counted("ranks")), (9592.0, 4.0));
    assert!(desk.journal()[0].contains("\"mpirun\":\"never\""), "{}", desk.journal()[0]);
    assert!(without_mpirun(&desk, "never").ended(0).err.is_empty(), "nothing is looked for, nothing is said");
}

#[test]
fn where_there_is_mpirun_it_starts_the_ranks() {
    let said = std::process::Command::new("mpirun").arg("--version").output();
    let is_here = said.is_ok_and(|said| said.stdout.starts_with(b"mpirun (Open MPI)"));
    let must = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(is_here || !must, "this test needs Open MPI, and CI=true lets nothing be skipped");
    if !is_here {
        return eprintln!("skipped: needs mpirun of Open MPI");
    }
    let Some(desk) = Desk::as_root() else { return };
    let ran = here(&desk, "auto", None).ended(0);
    assert!(ran.err.contains("the ranks are started by mpirun (Open MPI) "), "{}", ran.err);
    assert_eq!(typical(&ran.report(), "b", "primes").round(), 9592.0);
    assert!(desk.journal()[0].contains("\"mpirun\":\"always\""), "{}", desk.journal()[0]);
}
