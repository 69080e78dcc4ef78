//! What an interrupted powerband, another boot or a damaged ledger leaves: told of, restored, named.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use powerband_host::FileLedger;
use powerband_machine::{Action, Before, Errno, Hold, Ledger, Turn};
use rustix::process::{Pid, Signal, kill_process};

use crate::desk::{Desk, root, split, text, until};

/// A turn of an ordinary file from what is there to `to`.
fn turn(path: &Path, to: &str, hold: Hold) -> Turn {
    let (site, before) = (path.display().to_string(), fs::read_to_string(path).unwrap());
    Turn {
        action: Action::WriteFile { path: site.clone(), text: to.into() },
        undo: Some(Action::WriteFile { path: site.clone(), text: before.clone() }),
        hold,
        knob: format!("file:{site}"),
        site: site.clone(),
        asked: to.into(),
        before: Before::Reads(before.trim_end().into()),
        read_back: Some(site),
        step: None,
        moves: std::collections::BTreeMap::new(),
    }
}

/// Turns as a powerband of the boot `boot_id` did before it was gone.
fn turned_by_one_that_is_gone(folder: &Path, boot_id: &str, turns: &[Turn]) {
    let mut ledger = Ledger::load(Box::new(FileLedger::new(folder)), boot_id).unwrap();
    for turn in turns {
        let id = ledger.intend(turn, &mut |_| Err(Errno::ENOENT)).unwrap();
        if let Action::WriteFile { path, text } = &turn.action
            && !path.starts_with("/proc/")
        {
            fs::write(path, text).unwrap();
        }
        ledger.done(id, None, Some(turn.asked.clone()), &mut |_| {}).unwrap();
    }
}

/// Files next to the state that read "0".
fn files<const N: usize>(desk: &Desk, names: [&str; N]) -> [PathBuf; N] {
    names.map(|name| {
        let path = desk.beside(name);
        fs::write(&path, "0\n").unwrap();
        path
    })
}

/// Replaces the first occurrence in the ledger.
fn damage(desk: &Desk, from: &str, to: &str) -> String {
    let path = desk.state().join("ledger");
    let whole = text(&path);
    let altered = whole.replacen(from, to, 1);
    assert_ne!(altered, whole);
    fs::write(&path, &altered).unwrap();
    altered
}

const NEXT: [&[&str]; 3] = [&["undo"], &["undo", "--left"], &["set", "OTHER"]];

#[test]
fn a_damaged_entry_is_named_and_the_rest_is_put_back() {
    for words in NEXT {
        let desk = Desk::new();
        let [a, b, c, set] = files(&desk, ["a", "b", "c", "set"]);
        let held = |path: &Path| turn(path, "1\n", Hold::Held);
        let turns = [held(&a), turn(&set, "1\n", Hold::Set), held(&b), held(&c)];
        turned_by_one_that_is_gone(&desk.state(), &powerband_host::boot_id(), &turns);
        let altered =
            damage(&desk, &format!("\"knob\":\"file:{}\"", b.display()), &format!("\"knob\":\"fil3:{}\"", b.display()));
        let ledger = desk.state().join("ledger").display().to_string();
        let warned = desk.run(&["info", "turned"]).ended(0).err;
        assert!(
            warned.contains(&format!(
                "entry 3 of {ledger} is damaged (it set fil3:{}, which read 0 before)",
                b.display()
            )),
            "{warned}"
        );
        assert!(warned.contains("2 settings are still set by an interrupted powerband"), "{warned}");

        let other = format!("{}=1", desk.knob("other"));
        let words: Vec<&str> = words.iter().map(|&word| if word == "OTHER" { &*other } else { word }).collect();
        let ran = desk.run(&words).ended(6);
        let why = ran.err.lines().last().unwrap();
        let aside = format!("{ledger}.damaged");
        assert!(why.starts_with("powerband: entry 3 ") && why.ends_with(&format!("delete {aside}")), "{why}");
        // What is set goes back by `undo` alone; what is damaged by nobody.
        let of_the_set = if words == ["undo"] { "0\n" } else { "1\n" };
        assert_eq!([&a, &b, &c, &set].map(|path| text(path)), ["0\n", "1\n", "0\n", of_the_set], "{words:?}");
        assert!(!desk.beside("other").exists(), "the first command only puts back");
        let line = altered.lines().find(|line| line.contains("fil3:")).unwrap();
        assert_eq!(text(Path::new(&aside)), format!("{line}\n"));

        // From now on everything works, and anyone who looks is reminded.
        desk.run(&["set", &other]).ended(0);
        desk.run(&["undo", "--all"]).ended(0);
        assert_eq!(text(&set), "0\n");
        for look in [&["info"][..], &["list"]] {
            let warned = desk.run(look).ended(0).err;
            assert!(warned.contains(&format!("{aside} holds what a damaged ledger had announced")), "{warned}");
        }
        fs::remove_file(&aside).unwrap();
        assert_eq!(desk.run(&["list"]).ended(0).err, "");
    }
}

#[test]
fn a_damaged_line_that_loses_nothing_stops_nobody() {
    let desk = Desk::new();
    let [a, b] = files(&desk, ["a", "b"]);
    let turns = [turn(&a, "1\n", Hold::Held), turn(&b, "1\n", Hold::Held)];
    turned_by_one_that_is_gone(&desk.state(), &powerband_host::boot_id(), &turns);
    damage(&desk, "\"record\":\"done\"", "\"record\":\"dome\"");
    let told = desk.run(&["undo", "--left"]).ended(0);
    assert!(told.err.contains("line 2 of ") && told.err.contains("nothing is lost"), "{}", told.err);
    assert_eq!([text(&a), text(&b)], ["0\n", "0\n"]);
    assert!(!desk.state().join("ledger.damaged").exists());
    assert_eq!(fs::read(desk.state().join("ledger")).unwrap(), b"");
}

#[test]
fn every_line_may_be_altered_anywhere() {
    let desk = Desk::new();
    let [a, b] = files(&desk, ["a", "b"]);
    let turns = [turn(&a, "1\n", Hold::Held), turn(&b, "1\n", Hold::Held)];
    turned_by_one_that_is_gone(&desk.state(), &powerband_host::boot_id(), &turns);
    let whole = fs::read(desk.state().join("ledger")).unwrap();
    // A stride without a common divisor with the lengths of fields; each byte is altered in the ledger's own tests.
    for place in (0..whole.len()).step_by(37) {
        for byte in [whole[place] ^ 4, b'\n'] {
            let mut altered = whole.clone();
            altered[place] = byte;
            fs::write(desk.state().join("ledger"), &altered).unwrap();
            let _gone = fs::remove_file(desk.state().join("ledger.damaged"));
            fs::write(&a, "1\n").unwrap();
            fs::write(&b, "1\n").unwrap();
            let ran = desk.run(&["undo", "--left"]);
            let told = format!("byte {place} made {byte}: {:?}\n{}", ran.code, ran.err);
            let back = [&a, &b].iter().filter(|path| text(path) == "0\n").count();
            assert!(!ran.err.contains("panicked"), "{told}");
            assert!(ran.code == Some(0) && back == 2 || ran.code == Some(6) && back >= 1, "{told}");
            assert_eq!(ran.code == Some(6), desk.state().join("ledger.damaged").exists(), "{told}");
            desk.run(&["undo"]).ended(0);
        }
    }
}

#[test]
fn what_is_no_ledger_is_refused_in_one_sentence() {
    let desk = Desk::new();
    let ledger = desk.state().join("ledger");
    let other = format!("{}=1", desk.knob("other"));
    fs::create_dir(desk.state()).unwrap();
    let refuses = |words: &[&str], what: &str| {
        let why = desk.run(words).refused(8);
        assert!(why.contains(&ledger.display().to_string()) && why.contains(what), "{why}");
    };
    let check = |what: &str| {
        refuses(&["info"], what);
        assert!(desk.run(&["list"]).ended(0).err.contains(what));
    };
    fs::write(&ledger, [0xff; 300]).unwrap();
    fs::set_permissions(&ledger, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    check("nothing in it was written by powerband");
    refuses(&["set", &other], "nothing in it was written by powerband");
    fs::set_permissions(&ledger, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    check("others may write it");
    if root() {
        fs::set_permissions(&ledger, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&ledger, Some(54_321), None).unwrap();
        check("it belongs to uid 54321");
    }
    fs::remove_file(&ledger).unwrap();
    fs::create_dir(&ledger).unwrap();
    check("it is a folder");
    refuses(&["set", &other], "it is a folder");
    assert!(!desk.beside("other").exists());
}

#[test]
fn another_boot_ends_what_the_kernel_forgot_and_leaves_what_was_set() {
    let desk = Desk::new();
    let [held, set] = files(&desk, ["held", "set"]);
    let mut kernels = [Hold::Held, Hold::Set].map(|hold| turn(Path::new("/proc/sys/vm/swappiness"), "61", hold));
    kernels[1].site = "second".into();
    let [forgotten, also_forgotten] = kernels;
    let turns = [forgotten, turn(&held, "1\n", Hold::Held), turn(&set, "1\n", Hold::Set), also_forgotten];
    turned_by_one_that_is_gone(&desk.state(), "00000000-0000-4000-8000-000000000000", &turns);
    let swappiness = text(Path::new("/proc/sys/vm/swappiness"));

    let listed = desk.json(&["undo", "--list"]);
    let sites = listed["open"].as_array().unwrap().iter().map(|it| it["entry"]["turn"]["site"].as_str().unwrap());
    let files = [&set, &held].map(|path| path.display().to_string());
    assert_eq!(sites.collect::<Vec<_>>(), files, "what was set, then what was left");
    assert_eq!(desk.turned(), 2, "the two files");
    desk.run(&["set", &format!("{}=1", desk.knob("other"))]).ended(0);
    assert_eq!([text(&held), text(&set)], ["0\n", "1\n"]);
    assert_eq!(text(Path::new("/proc/sys/vm/swappiness")), swappiness);
    assert_eq!(desk.turned(), 2, "what is set, and the other");
    desk.run(&["undo", "--all"]).ended(0);
    assert_eq!(text(&set), "0\n");
    assert_eq!(fs::read(desk.state().join("ledger")).unwrap(), b"");
}

#[test]
fn whoever_looks_is_told_what_an_interrupted_one_left_and_who_holds_what() {
    let desk = Desk::new();
    let [path] = files(&desk, ["knob"]);
    let knob = format!("{}=1", desk.knob("knob"));
    let running = desk.start(&["with", &knob, "--", "sleep", "300"]);
    until("the knob is turned", || text(&path).trim_end() == "1");
    let looked = desk.run(&["info", "turned"]).ended(0);
    assert!(looked.out.contains(&format!("(held by powerband {})", running.pid())), "{}", looked.out);
    assert_eq!(looked.err, "", "its owner lives");
    assert_eq!(desk.json(&["info", "turned"])["turned"][0]["held_by"], running.pid());
    assert_eq!(desk.run(&["list"]).ended(0).err, "");

    // Both at once, so that nobody is left to put it back. The owner stops first, or it would replace the guardian.
    running.signal(Signal::STOP);
    for guardian in guardians(&desk) {
        kill_process(guardian, Signal::KILL).unwrap();
    }
    running.signal(Signal::KILL);
    running.end();
    until("the guardian is gone", || guardians(&desk).is_empty());
    assert_eq!(text(&path).trim_end(), "1");
    for look in [&["info"][..], &["info", "turned"], &["list"]] {
        let looked = desk.run(look).ended(0);
        assert_eq!(
            looked.err,
            "note: 1 setting is still set by an interrupted powerband; `powerband undo --left` or the next command that sets a knob restores it\n"
        );
        assert!(look == ["list"] || looked.out.contains("interrupted powerband"), "{}", looked.out);
    }
    let listed = desk.run(&["undo", "--list"]).ended(0).out;
    assert!(listed.starts_with("left by an interrupted powerband") && listed.contains("1 (was 0)"), "{listed}");
    assert_eq!(text(&path).trim_end(), "1", "looking puts nothing back");
    let told = desk.run(&["undo", "--left"]).ended(0);
    assert_eq!((told.out.as_str(), told.err.as_str(), text(&path).as_str()), ("restored: 1\n", "", "0\n"));
    assert_eq!(desk.run(&["undo", "--left"]).ended(0).out, "nothing is left\n");
}

#[test]
fn the_guardian_restores_from_its_own_copy_what_is_damaged_in_the_ledger() {
    let desk = Desk::new();
    let [a, b] = files(&desk, ["a", "b"]);
    let (first, second) = (format!("{}=1", desk.knob("a")), format!("{}=1", desk.knob("b")));
    let running = desk.start(&["with", &first, &second, "--", "sleep", "300"]);
    until("both are turned", || [&a, &b].iter().all(|path| text(path) == "1\n"));
    until("both are written down", || text(&desk.state().join("ledger")).matches("\"done\"").count() == 2);
    damage(&desk, "\"asked\":\"1\"", "\"asked\":\"7\"");
    running.signal(Signal::KILL);
    running.end();
    until("the guardian has ended", || guardians(&desk).is_empty());
    assert_eq!([text(&a), text(&b)], ["0\n", "0\n"]);
    assert!(desk.state().join("ledger.damaged").exists(), "what could not be read is kept");
    desk.run(&split("try -s a: -s b: --blocks 1 -- true")).ended(0);
}

#[test]
fn undo_left_leaves_what_was_set() {
    let desk = Desk::new();
    let [held, set] = files(&desk, ["held", "set"]);
    let turns = [turn(&set, "1\n", Hold::Set), turn(&held, "1\n", Hold::Held)];
    turned_by_one_that_is_gone(&desk.state(), &powerband_host::boot_id(), &turns);
    assert_eq!(desk.json(&["undo", "--left"])["restored"]["undone"], 1);
    assert_eq!([text(&held), text(&set)], ["0\n", "1\n"]);
    desk.run(&["undo", "--left", "--all"]).refused(2);
}

#[test]
fn what_a_simulated_machine_keeps_is_tidied_too_on_both_sides() {
    let desk = Desk::new();
    let path = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    for name in ["omap3530", "pc"] {
        let held = Turn {
            action: Action::WriteFile { path: path.into(), text: "powersave".into() },
            undo: Some(Action::WriteFile { path: path.into(), text: "ondemand".into() }),
            hold: Hold::Held,
            knob: "cpufreq.governor".into(),
            site: "policy0".into(),
            asked: "powersave".into(),
            before: Before::Reads("ondemand".into()),
            read_back: Some(path.into()),
            step: None,
            moves: std::collections::BTreeMap::new(),
        };
        let folder = desk.state().join("sim").join(name);
        let mut ledger = Ledger::load(Box::new(FileLedger::new(&folder)), "").unwrap();
        ledger.intend(&held, &mut |_| Err(Errno::ENOENT)).unwrap();
    }
    let rig = ["--machine", "sim:omap3530", "--far", "sim:pc"];
    let warned = desk.run(&[&rig[..], &["info", "turned"]].concat()).ended(0).err;
    assert_eq!(warned.matches("still set by an interrupted powerband").count(), 2, "{warned}");
    desk.run(&[&rig[..], &["undo", "--left"]].concat()).ended(0);
    let looked = desk.run(&[&rig[..], &["info", "turned"]].concat()).ended(0);
    assert_eq!((looked.out.lines().last(), looked.err.as_str()), (Some("nothing is changed"), ""));
}

#[test]
fn a_foreign_file_says_when_it_was_changed_and_whose_it_is() {
    let Some(desk) = Desk::as_root() else { return };
    let [path] = files(&desk, ["knob"]);
    desk.run(&["set", &format!("{}=1", desk.knob("knob"))]).ended(0);
    fs::write(&path, "theirs\n").unwrap();
    std::os::unix::fs::chown(&path, Some(54_321), None).unwrap();
    let file = fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(185)).unwrap();
    let why = desk.run(&["undo"]).refused(1);
    assert!(why.contains("now reads theirs (changed 3 min ago, file of uid 54321)"), "{why}");
    let told = desk.run(&["--json", "undo"]).ended(1).value();
    let changed = &told["restored"]["foreign"][0]["changed"];
    let ago = powerband_host::unix_time_s() - changed["unix_s"].as_u64().unwrap();
    assert!((185..4000).contains(&ago), "{told}");
    desk.run(&["undo", "--force"]).ended(0);
}

#[test]
fn our_units_are_such_that_systemd_takes_them() {
    for (name, call) in [("undo", "undo --left"), ("guard", "guard --hold")] {
        let unit = text(&crate::desk::workspace().join(format!("etc/powerband-{name}.service")));
        assert!(unit.contains(&format!("ExecStart=/usr/local/bin/powerband {call}\n")));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("powerband-{name}.service"));
        fs::write(&path, unit.replace("/usr/local/bin/powerband", env!("CARGO_BIN_EXE_powerband"))).unwrap();
        match Command::new("systemd-analyze").arg("verify").arg(&path).output() {
            // systemd is not everywhere; where it is, it has no complaint.
            Err(_) => eprintln!("skipped: there is no systemd-analyze"),
            Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{output:?}"),
        }
    }
}

/// The guardians of a state folder.
fn guardians(desk: &Desk) -> Vec<Pid> {
    let ours = format!("__guardian\0{}\0", desk.state().display());
    let names = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_one = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).ends_with(&ours))
    };
    names.filter_map(|name| name.parse().ok()).filter(is_one).filter_map(Pid::from_raw).collect()
}

#[test]
fn what_reads_differently_after_it_was_put_back_is_told() {
    let desk = Desk::new();
    let [path] = files(&desk, ["knob"]);
    let theirs = format!("ln -sf /dev/null {}", path.display());
    let knob = format!("{}=1", desk.knob("knob"));
    let ran = desk.run(&["with", &knob, "--", "sh", "-c", &theirs]).ended(6);
    assert!(ran.err.contains("reads nothing where it read 0 before"), "{}", ran.err);

    fs::remove_file(&path).unwrap();
    fs::write(&path, "0\n").unwrap();
    let setting = format!("b:{knob}");
    let words = format!("try -s a: -s `{setting}` --settle 0 --blocks 2 --warmup 0 -- sh -c");
    let words = split(&words);
    let ran =
        desk.run(&[&words[..], &[&format!("if grep -q 1 {}; then {theirs}; fi", path.display())]].concat()).ended(6);
    assert!(ran.out.contains("RESTORE INCOMPLETE"), "{}\n{}", ran.out, ran.err);
    assert!(ran.out.replace('\n', " ").contains("reads nothing where it read 0 before"), "{}", ran.out);
}

#[test]
fn a_file_under_two_names_is_restored_and_one_that_a_write_would_harm_is_not_changed() {
    let desk = Desk::new();
    let [one, other] = ["one", "other"].map(|name| desk.beside(name));
    fs::write(&one, "there\n").unwrap();
    fs::hard_link(&one, &other).unwrap();
    let words = [&one, &other].map(|path| format!("file:{}={}", path.display(), path.display()));
    let both = desk.run(&["with", &words[0], &words[1], "--", "true"]);
    assert_eq!((both.code, text(&one).as_str()), (Some(0), "there\n"), "{}", both.err);
    // A link that leads elsewhere by now.
    let [link, third] = ["link", "third"].map(|name| desk.beside(name));
    fs::write(&third, "third\n").unwrap();
    std::os::unix::fs::symlink(&one, &link).unwrap();
    let turned = format!("ln -sf {} {}", third.display(), link.display());
    let moved = desk.run(&["with", &format!("file:{}=x", link.display()), "--", "sh", "-c", &turned]);
    assert_eq!((moved.code, text(&third).as_str()), (Some(6), "third\n"), "{}", moved.err);
    assert!(moved.err.contains(&one.display().to_string()), "{}", moved.err);
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&one, &link).unwrap();
    assert_eq!((desk.run(&["undo", "--left"]).code, text(&one).as_str()), (Some(0), "there\n"));
    // A program with capabilities; where none can be given, as without root, there is nothing to lose.
    let capable = [1_u32.to_le(), 0, 0, 0, 0].map(u32::to_le_bytes).concat();
    let capable = [&0x0200_0001_u32.to_le_bytes()[..], &0x0000_2000_u32.to_le_bytes(), &capable[..12]].concat();
    if rustix::fs::setxattr(&third, "security.capability", &capable, rustix::fs::XattrFlags::empty()).is_ok() {
        let setting = format!("file:{}=x", third.display());
        for words in [&["with"][..], &["--machine", "sh:sh", "with"]] {
            let refused = desk.run(&[words, &[&setting, "--", "true"]].concat());
            assert_eq!((refused.code, text(&third).as_str()), (Some(4), "third\n"), "{}", refused.err);
        }
        assert!(rustix::fs::getxattr(&third, "security.capability", &mut [0_u8; 64][..]).is_ok());
    }
}
