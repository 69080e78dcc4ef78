//! Pages of all kinds, made by the command and by hand, through one start of the browser.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::desk::{Desk, Ran, root, split, workspace};
use crate::made_up;

/// Where xtask put the modules: in the target folder, which is one of those around ours.
pub(crate) fn modules() -> PathBuf {
    let around = Path::new(env!("CARGO_TARGET_TMPDIR")).ancestors();
    around.map(|folder| folder.join("page-modules")).find(|folder| folder.is_dir()).unwrap_or_default()
}

pub(crate) fn ready() -> bool {
    let here = Path::new("/usr/bin/chromium").exists() && modules().join("node_modules/ajv").exists();
    let node = Command::new("node").arg("--version").output().is_ok();
    assert!(
        here && node || std::env::var("CI").as_deref() != Ok("true"),
        "this test needs node, chromium and the modules `cargo xtask test --tier services` fetches, and CI=true"
    );
    if !(here && node) {
        eprintln!("skipped: needs node, chromium and the modules `cargo xtask test --tier services` fetches");
    }
    here && node
}

/// A folder of pages that are to be looked at, and where the experiments they are of are kept.
struct Pages {
    desk: Desk,
    folder: PathBuf,
}

impl Pages {
    fn new() -> Pages {
        let desk = Desk::new();
        let folder = desk.beside("pages");
        std::fs::create_dir(&folder).unwrap();
        Pages { desk, folder }
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(format!("{name}.html")).display().to_string()
    }

    /// Measures, and writes the page of it.
    #[track_caller]
    fn of(&self, name: &str, words: &[&str]) {
        self.desk.run(words).ended(0);
        self.desk.run(&["report", "-o", &self.file(name)]).ended(0);
    }

    /// Every plan there is, in a short form: two blocks, and loads of half a minute at most. The numbers they are kept under.
    fn of_plans(&self) -> BTreeMap<String, usize> {
        let mut plans: Vec<PathBuf> =
            std::fs::read_dir(workspace().join("plans")).unwrap().map(|entry| entry.unwrap().path()).collect();
        plans.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
        plans.sort();
        assert!(!plans.is_empty());
        let mut ids = BTreeMap::new();
        for (id, plan) in (1..).zip(plans) {
            let name = plan.file_stem().unwrap().to_str().unwrap();
            let short = self.desk.beside(&format!("{name}.toml"));
            std::fs::write(&short, shortened(&std::fs::read_to_string(&plan).unwrap())).unwrap();
            self.of(&format!("plan-{name}"), &["run", short.to_str().unwrap(), "--blocks", "2"]);
            ids.insert(name.to_owned(), id);
        }
        ids
    }

    /// What this machine does, with a knob that any has.
    fn of_this_machine(&self) {
        if root() {
            let turned = split("try cgroup.cpu_quota=30%,60% --load counter --for 1s --blocks 2");
            self.of("this-machine", &[&turned[..], &["--settle", "0", "--record", "utilisation"]].concat());
        }
    }

    /// What a simulated machine does: clocks and use over trials that are longer than a drawing has room for, noise, a search.
    fn of_a_simulated_machine(&self) {
        let on = |words: &[&'static str]| [words, &["--machine", "sim:quadcore", "--load", "counter"][..]].concat();
        self.of("governors", &on(&["try", "governor=all", "--blocks", "3"]));
        let recorded = split("try governor=ondemand,conservative --for 60s --blocks 2");
        self.of("courses", &on(&[&recorded[..], &["--record", "clock,utilisation"]].concat()));
        self.of("noise", &on(&["calibrate", "--trials", "12"]));
        let tune = split("tune governor=all max_freq=all --minimize energy_j --require count_per_s>=3.8e6");
        self.of("search", &on(&tune));
    }

    /// Settings of one experiment, experiments over what their loads differ in, the same experiment on several days.
    fn of_comparisons(&self, plans: &BTreeMap<String, usize>) {
        let compare = |name: &str, words: [String; 3]| {
            self.desk.run(&["compare", &words[0], &words[1], &words[2], "-o", &self.file(name)]).ended(0);
        };
        compare("compared", ["250MHz", "500MHz", "550MHz"].map(|setting| format!("{}:{setting}", plans["router"])));
        let customers = ["500", "1000", "2000"].map(|customers| format!("governors-shop-{customers}"));
        compare("customers", customers.map(|plan| plans[&plan].to_string()));
        let days = ["3", "4", "5"].map(|seed| {
            let governors = split("try governor=all --load counter --machine sim:quadcore --blocks 3");
            self.desk.run(&[&governors[..], &["--seed", seed]].concat()).ended(0);
            self.desk.experiments().to_string()
        });
        compare("days", days);
    }

    /// Articles done again; so few blocks may leave a claim open.
    fn of_articles(&self) {
        for article in ["coalesce", "counter", "router"] {
            let ran = self.desk.run(&[
                "replicate",
                article,
                "--blocks",
                "2",
                "-o",
                &self.file(&format!("article-{article}")),
            ]);
            assert!(ran.code == Some(0) || ran.code == Some(1), "{}", ran.err);
            // An article without published numbers has none that could be met.
            assert!(ran.out.contains("claims hold") && !ran.out.contains("0 of 0"), "{}", ran.out);
        }
    }

    /// Few settings and many, names that would be more than names, a machine that was not as found at the end.
    fn of_nothing_measured(&self) {
        for settings in [2, 12, 100] {
            std::fs::write(self.file(&format!("made-up-{settings}")), made_up::page(settings, false)).unwrap();
        }
        std::fs::write(self.file("hostile"), made_up::page(5, true)).unwrap();
    }
}

/// A plan whose loads take half a minute at most.
fn shortened(plan: &str) -> String {
    let line = |line: &str| {
        let seconds = line.strip_prefix("for = \"").and_then(|rest| rest.strip_suffix("s\"")?.parse::<u32>().ok());
        if seconds.is_some_and(|seconds| seconds > 30) { "for = \"30s\"".to_owned() } else { line.to_owned() }
    };
    plan.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn pages_open_offline_say_what_their_data_says_and_print() {
    if !ready() {
        return;
    }
    let pages = Pages::new();
    let plans = pages.of_plans();
    pages.of_this_machine();
    pages.of_a_simulated_machine();
    pages.of_comparisons(&plans);
    pages.of_articles();
    pages.of_nothing_measured();
    let check = workspace().join("crates/powerband/tests/page/check.mjs");
    let mut command = Command::new("node");
    command.arg(check).arg(modules()).arg(&pages.folder);
    // Pictures of the pages, for whoever wants to look at them.
    command.args(std::env::var_os("POWERBAND_PAGE_SHOTS"));
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, Some(0), "what is wrong:\n{}{}", ran.out, ran.err);
}
