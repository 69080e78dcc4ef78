//! An administrator who edits every file that keeps something, between keeping, keeping more, keeping less and keeping nothing: no edit is
//! lost, or what would lose it is refused and nothing is written.
use std::collections::BTreeSet;

use powerband_persist::{KeepError, KeepRequest, KeptSetting, Manifest, Origin, keep};

use crate::tree::{Tree, cpus};

/// A stream of numbers by xorshift.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

const THEIRS: [&str; 3] = ["/etc/default/cpufrequtils", "/etc/default/cpupower", "/etc/tlp.conf"];

fn machine(draw: &mut Draw) -> Tree {
    let mut tree = cpus("acpi-cpufreq", "conservative ondemand powersave performance schedutil", "performance");
    tree.set_default_governor("schedutil");
    tree.start_systemd(["", "+cpufrequtils", "+cpupower", "+tlp", "+cpufrequtils +cpupower"][draw.below(5)]);
    tree.put("/etc/sysctl.d/", "");
    tree.put("/proc/sys/vm/swappiness", "60\n");
    for path in THEIRS {
        let end = ["", "\n"][draw.below(2)];
        tree.put(path, format!("# theirs\n# GOVERNOR=x\nA=1\nGOVERNOR=\"powersave\"\ngovernor='powersave'\nB=2{end}"));
    }
    tree
}

/// Writes a line nobody else writes into one of the files that keep something, or takes one away.
fn edit(tree: &mut Tree, draw: &mut Draw, edits: &mut BTreeSet<(String, String)>) {
    let kept = Manifest::read(tree).unwrap();
    let paths: Vec<String> = kept.files.into_iter().map(|file| file.path).chain(THEIRS.map(str::to_owned)).collect();
    let path = &paths[draw.below(paths.len())];
    let Some(text) = tree.text(path) else { return };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = format!("# edit {}", edits.len());
    match draw.below(4) {
        0 => lines.push(line.clone()),
        1 => lines.insert(0, line.clone()),
        2 => lines.insert(draw.below(lines.len() + 1), line.clone()),
        _ => {
            let at = draw.below(lines.len());
            if lines[at].starts_with("# edit") {
                return;
            }
            lines[at] = line.clone();
        }
    }
    tree.put(path, lines.join("\n") + "\n");
    edits.insert((path.clone(), line));
}

/// Changes what is kept; whether it was refused for the sake of an edit.
fn amend(tree: &mut Tree, request: &KeepRequest<'_>) -> bool {
    let before = tree.all();
    match keep(tree, request, &Origin::default()) {
        Ok(keeping) => tree.keep(&keeping),
        Err(KeepError::Edited { diff, .. }) => {
            assert!(diff.contains("@@"), "{diff}");
            assert_eq!(tree.all(), before);
            return true;
        }
        Err(error) => panic!("{error}"),
    }
    false
}

#[test]
fn no_edit_of_an_administrator_is_lost() {
    let (mut refused, mut made) = (0, 0);
    for seed in 1..=300 {
        let draw = &mut Draw(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let mut tree = machine(draw);
        let mut edits = BTreeSet::new();
        for _ in 0..8 {
            let setting =
                ["governor=performance", "governor=conservative", "max_freq=2000000", "sysctl.vm.swappiness=7"];
            refused += u32::from(match draw.below(6) {
                0 => amend(
                    &mut tree,
                    &KeepRequest {
                        drops: &|it: &KeptSetting| it.knob.starts_with("cpufreq"),
                        ..KeepRequest::default()
                    },
                ),
                1 => amend(&mut tree, &KeepRequest { drops: &|_| true, ..KeepRequest::default() }),
                n => {
                    let planned = tree.planned(setting[n - 2]);
                    amend(&mut tree, &KeepRequest { planned: &planned, ..KeepRequest::default() })
                }
            });
            edit(&mut tree, draw, &mut edits);
            for (path, line) in &edits {
                let text = tree.text(path).unwrap_or_default();
                // Whoever edits a line that an edit made takes that one's place.
                assert!(text.contains(line.as_str()), "seed {seed}: {line} of {path} is lost:\n{text}");
            }
        }
        made += edits.len();
    }
    assert!(made > 1_000 && refused > 100, "{made} edits, {refused} refused");
}

#[test]
fn what_nobody_edited_is_restored_to_the_byte() {
    for seed in 1..=100 {
        let draw = &mut Draw(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let mut tree = machine(draw);
        let before = tree.all();
        for setting in ["governor=performance", "max_freq=2000000", "sysctl.vm.swappiness=7", "governor=conservative"] {
            if draw.below(3) > 0 {
                let planned = tree.planned(setting);
                assert!(!amend(&mut tree, &KeepRequest { planned: &planned, ..KeepRequest::default() }));
            }
        }
        assert!(!amend(&mut tree, &KeepRequest { drops: &|_| true, ..KeepRequest::default() }));
        assert_eq!(tree.all(), before, "seed {seed}");
    }
}

#[test]
fn what_is_gone_stays_kept_and_holds_up_nothing() {
    let mut tree = machine(&mut Draw(5));
    for setting in ["sysctl.vm.swappiness=7", "governor=performance"] {
        let planned = tree.planned(setting);
        assert!(!amend(&mut tree, &KeepRequest { planned: &planned, ..KeepRequest::default() }));
    }
    tree.remove("/proc/sys/vm/swappiness");
    let planned = tree.planned("max_freq=2000000");
    assert!(!amend(&mut tree, &KeepRequest { planned: &planned, ..KeepRequest::default() }));
    let list = "/etc/sysctl.d/99-zz-powerband.conf";
    assert!(tree.text(list).unwrap().ends_with("\nvm.swappiness = 7\n"));
    let knobs = |tree: &mut Tree| -> BTreeSet<String> {
        Manifest::read(tree).unwrap().settings.into_iter().map(|it| it.knob).collect()
    };
    assert_eq!(
        knobs(&mut tree),
        ["cpufreq.governor", "cpufreq.max_freq", "sysctl.vm.swappiness"].map(str::to_owned).into()
    );
    let drops = |it: &KeptSetting| it.knob == "sysctl.vm.swappiness";
    assert!(!amend(&mut tree, &KeepRequest { drops: &drops, ..KeepRequest::default() }));
    assert_eq!((tree.text(list), knobs(&mut tree).len()), (None, 2));
}
