//! Full disks: small file systems of their own with room for nothing, for a part of what is written, for less every moment.
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::desk::{Desk, Ran, split, text};

/// Runs a script of bash's where `$disk` is an ext4 file system of 16 MiB, `$knob` a file with the value 0 next to it, and
/// `pb` the command with its state on that disk. `fill N` leaves N KiB free.
fn on_a_small_disk(desk: &Desk, script: &str) -> Ran {
    let (image, disk) = (desk.beside("image"), desk.beside("disk"));
    fs::write(desk.beside("knob"), "0").unwrap();
    fs::create_dir_all(&disk).unwrap();
    fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let format = split("-q -F -t ext4 -O ^has_journal -m 0 -b 1024");
    assert!(Command::new("mke2fs").args(format).arg(&image).status().unwrap().success());
    let before = "set -u; disk=$1; knob=$2; powerband=$3; mount -o loop \"$4\" \"$disk\" || exit 99
        export POWERBAND_STATE_DIR=$disk/state
        pb() { \"$powerband\" \"$@\"; }
        fill() { free=$(( $(stat -f -c '%a * %S' \"$disk\") / 1024 )); rm -f \"$disk/fill\"
            free=$(( $(stat -f -c '%a * %S' \"$disk\") / 1024 ))
            if (( free > $1 )); then head -c $(( (free - $1) * 1024 )) /dev/zero > \"$disk/fill\" 2>&-; fi; }
        ";
    let mut command = Command::new("unshare");
    desk.furnish(&mut command);
    command.args(["--mount", "--propagation", "private", "bash", "-c", &format!("{before}{script}"), "bash"]);
    command.args([&disk, &desk.beside("knob"), Path::new(env!("CARGO_BIN_EXE_powerband")), &image]);
    Ran::of(&command.output().unwrap())
}

#[test]
fn with_room_for_a_part_of_the_ledger_all_is_turned_or_nothing() {
    let Some(desk) = Desk::as_root() else { return };
    let script = "for room in 0 1 2 3 4 6 8 12 16 24 32 48 60 64 65 66 68 72 80 96 97 98 100 104 112 128 160 200; do
            rm -rf $disk/state; fill $room
            pb set file:$knob=1 >&- 2>$disk/../why; set=$?; value=$(cat $knob)
            fill 0; pb undo >&- 2>>$disk/../why; undo=$?
            echo $room $set $value $undo $(cat $knob); echo 0 > $knob.new; mv $knob.new $knob; printf 0 > $knob
        done";
    let ran = on_a_small_disk(&desk, script).ended(0);
    let rounds: Vec<Vec<&str>> = ran.out.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(rounds.len(), 28, "{}", ran.out);
    for round in &rounds {
        // After a refusal nothing is changed; what was turned is restored although the disk is full to the last byte by then.
        let well = matches!(&round[1..], ["8", "0", _, "0"] | ["0", "1", "0", "0"]);
        assert!(well, "room, code of set, value, code of undo, value: {round:?}\n{}", text(&desk.beside("why")));
    }
    let refused = rounds.iter().filter(|round| round[1] == "8").count();
    assert!(refused > 5 && refused < 25, "both ways must have been met: {}", ran.out);
}

#[test]
fn a_disk_that_fills_up_while_something_is_held_keeps_nothing_turned() {
    let Some(desk) = Desk::as_root() else { return };
    let script =
        "pb with file:$knob=1 -- sh -c \"cat $knob; dd if=/dev/zero of=$disk/fill bs=1k; sync $disk/fill; stat -f -c ' %a' $disk; exit 5\" 2>&-
        echo code $?; cat $knob; echo; stat -c %s $disk/state/ledger";
    let ran = on_a_small_disk(&desk, script).ended(0);
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), ["1 0", "code 5", "0", "0"], "value and room, code, value, ledger");
}

#[test]
fn results_are_kept_up_to_the_last_finished_trial() {
    let Some(desk) = Desk::as_root() else { return };
    // What a trial prints is kept: 20 kB each.
    let script = "fill 240; own=$disk/own.sqlite
        pb --store $own try -s a: -s b:file:$knob=1 --settle 0 --warmup 0 --blocks 40 --repeat 1 --margin 0.0001% --alpha 0.001% -- \\
            sh -c \"echo ran >> $disk/../ran; head -c 20000 /dev/zero | tr '\\\\0' x\" >&- 2>$disk/../why; echo code $?
        cat $knob; echo; stat -c %s $disk/state/ledger
        rm $disk/fill; pb --store $own export --journal last > $disk/../kept
        pb --store $own resume >&- 2>$disk/../why2; echo code $?; cat $knob; echo; pb --store $own export --journal last > $disk/../whole";
    let ran = on_a_small_disk(&desk, script).ended(0);
    let why = text(&desk.beside("why"));
    assert_eq!(
        ran.out.lines().collect::<Vec<_>>(),
        ["code 8", "0", "0", "code 0", "0"],
        "code, value, ledger: {why}{}",
        text(&desk.beside("why2"))
    );
    // The ledger or the store, whichever needed room first.
    assert!(why.contains("full") || why.contains("space"), "{why}");
    let again = format!("`powerband --store {} resume 1`", desk.beside("disk/own.sqlite").display());
    assert!(why.contains(&again), "{why}");
    let (kept, whole) = (text(&desk.beside("kept")), text(&desk.beside("whole")));
    let done = |journal: &str| journal.matches("\"trial_done\"").count();
    let trials = text(&desk.beside("ran")).lines().count();
    assert!(done(&kept) >= 2, "{} trials are kept", done(&kept));
    // All of them and, once there is room again, the others; the one that was lost to the full disk ran twice.
    assert!(whole.lines().skip(1).zip(kept.lines().skip(1)).take(3 * done(&kept)).all(|(whole, kept)| whole == kept));
    assert!(done(&whole) == 80 && trials <= 81, "{} trials of {trials} are kept", done(&whole));
}

#[test]
fn a_result_that_could_not_be_printed_is_an_error() {
    let desk = Desk::new();
    let commands: [&[&str]; 5] = [
        &["--help"],
        &["sim", "list"],
        &["sim", "list", "--json"],
        &["completions", "bash"],
        &split("--machine sim:quadcore watch --json --count 2")[..],
    ];
    for words in commands {
        let mut command = desk.command(words);
        command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
        let ran = Ran::of(&command.output().unwrap());
        let why = ran.refused(8);
        assert!(why.contains("could not be written to standard output: no space left on device"), "{words:?}: {why}");
    }
}

#[test]
fn a_page_that_does_not_fit_leaves_what_was_there() {
    let Some(desk) = Desk::as_root() else { return };
    let script = "export POWERBAND_STATE_DIR=$disk/../results
        pb run plans/router.toml --blocks 2 >&- 2>&-
        echo mine > $disk/mine.html; fill 20
        pb report -o $disk/new.html 2>$disk/../why; echo code $?
        pb report --force -o $disk/mine.html 2>>$disk/../why; echo code $?; cat $disk/mine.html; ls -A $disk";
    let ran = on_a_small_disk(&desk, script).ended(0);
    let lines: Vec<&str> = ran.out.lines().collect();
    let why = text(&desk.beside("why"));
    assert_eq!(lines, ["code 8", "code 8", "mine", "fill", "lost+found", "mine.html"], "{why}");
    assert!(why.contains("new.html: no space left on device\n") && !why.contains("os error"), "{why}");
}
