//! Modules of the kernel as knobs, with a modprobe and a folder of modules of the test's own: loaded, removed, and as before.
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::desk::{Desk, Ran, root};

/// `upper` needs `lower_half`; `solid` is built in; `ghost` is not there; one with a file `busy` in its folder is in use.
const MODPROBE: &str = r#"#!/bin/sh
case "$1" in
-D)
    case "$2" in
    ghost) echo "modprobe: FATAL: Module ghost not found." >&2; exit 1 ;;
    solid) echo "builtin solid" ;;
    *) echo "insmod /lib/modules/6/kernel/lower-half.ko.xz"; echo "insmod /lib/modules/6/kernel/$2.ko.xz speed=3" ;;
    esac ;;
-r)
    [ -e "/sys/module/$2/busy" ] && { echo "modprobe: FATAL: Module $2 is in use." >&2; exit 1; }
    rm -r "/sys/module/$2" ;;
*) for module in lower_half "$1"; do mkdir -p "/sys/module/$module"; echo live >"/sys/module/$module/initstate"; done ;;
esac
"#;

const RMMOD: &str = "#!/bin/sh\nfor module; do rm -r \"/sys/module/$module\" || exit 1; done\n";

/// Runs a script in a mount namespace with those programs and no module loaded.
fn among_modules(script: &str) -> Option<Ran> {
    if !root() {
        return None;
    }
    let desk = Desk::new();
    let programs = desk.beside("bin");
    fs::create_dir(&programs).unwrap();
    for (name, text) in [("modprobe", MODPROBE), ("rmmod", RMMOD)] {
        let file = programs.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new("unshare");
    desk.furnish(&mut command);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let script = format!("mount -t tmpfs modules /sys/module && {script}");
    command.env("PATH", path).env("P", env!("CARGO_BIN_EXE_powerband")).args(["-m", "sh", "-c", &script]);
    Some(Ran::of(&command.output().unwrap()))
}

#[test]
fn a_module_is_loaded_for_a_command_and_what_it_brought_along_goes_with_it() {
    let script = r#""$P" with module.upper=loaded -- ls -x /sys/module; echo "then: $(ls /sys/module)"
mkdir /sys/module/lower_half; echo live >/sys/module/lower_half/initstate
"$P" with module.upper=loaded -- ls -x /sys/module; echo "then: $(ls /sys/module)""#;
    let Some(ran) = among_modules(script) else { return };
    let ran = ran.ended(0);
    assert_eq!(ran.out, "lower_half  upper\nthen: \nlower_half  upper\nthen: lower_half\n", "{}", ran.err);
}

#[test]
fn a_module_that_was_removed_is_loaded_again_by_undo() {
    let script = r#"modprobe upper && "$P" get module.upper && "$P" set module.upper=absent && ls /sys/module && "$P" undo && ls /sys/module"#;
    let Some(ran) = among_modules(script) else { return };
    let ran = ran.ended(0);
    for words in ["module.upper@- = loaded", "module.upper: absent, applied", "lower_half\nupper\n"] {
        assert!(ran.out.contains(words), "{words}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn what_cannot_be_loaded_or_removed_is_said() {
    for (script, code, words) in [
        (
            r#""$P" set module.ghost=loaded"#,
            2,
            "modprobe finds no module ghost for this kernel; `modprobe -D ghost` says why",
        ),
        (r#""$P" set module.solid=loaded"#, 2, "solid is built into this kernel, so it is always there"),
        (r#"mkdir /sys/module/solid; "$P" set module.solid=absent"#, 2, "solid is built into this kernel"),
        (r#"modprobe upper; touch /sys/module/upper/busy; "$P" set module.upper=absent"#, 8, "Module upper is in use."),
        (r#""$P" set module.upper=maybe"#, 2, "'maybe' is none of its values: loaded, absent"),
        (r#""$P" set 'module.x;reboot=loaded'"#, 2, "a module's name has letters, digits, '_' and '-'"),
    ] {
        let Some(ran) = among_modules(script) else { return };
        let ran = ran.ended(code);
        assert!(ran.err.contains(words), "{script}: {}", ran.err);
    }
}
