//! The access service as systemd runs it, from the unit file of this repository: users are served and refused, and what a killed
//! service held is restored.
use crate::{Boots, boots};

/// The tree gets the unit, a policy for Alice, and two users.
const SETUP: &str = r#"
install -d -m 755 "$R/etc/powerband"
printf '[[allow]]\nusers = ["alice"]\ncpus = "all"\n[allow.knobs]\n"cpufreq.governor" = ["performance", "powersave"]\n' >"$R/etc/powerband/access.toml"
for u in alice:64101 bob:64102; do
  n=${u#*:}; echo "${u%:*}:x:$n:$n::/home/$n:/bin/sh" >>"$R/etc/passwd"; echo "${u%:*}:x:$n:" >>"$R/etc/group"
  install -d -o "$n" -g "$n" "$R/home/$n"
done
enable powerband
"#;

#[test]
fn the_access_service_under_systemd_serves_and_restores_after_a_kill() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../etc/powerband.service");
    let setup = format!("install -m 644 '{unit}' \"$U/powerband.service\"; {SETUP}");
    let first = include_str!("access.sh");
    let told =
        boots(&Boots { init: "systemd", sim: "pc", package: "tlp", setup: &setup, first, second: ":", third: "" });
    let Some([first, ..]) = told else { return };
    for line in [
        "unit: active enabled",
        "folder: drwxr-xr-x root root",
        // Everybody may ask; who is asking, the kernel says.
        "socket: srw-rw-rw- root root",
        "state: drwx------ root root",
        "try: 0 1",
        "after try: as before",
        "with: powersave 64101 ",
        "bob: 3 powerband: the access service: the access policy does not let you set anything",
        "after bob: as before",
        "set:  4 powersave ",
        // The connection is gone, and with it what it held.
        "the user's powerband: 8",
        "restarts: 1",
        "after the kill: as before",
        "left: nothing is changed",
        "again: powersave",
        "in the end: as before",
    ] {
        assert!(first.lines().any(|of| of == line), "{line:?} is not in {first}");
    }
}
