//! Power limits are witnessed by the watts of their zone: files laid over /sys in a mount namespace of its own.
use std::process::Command;

use crate::desk::{Desk, Ran};

/// A package under a limit, whose counter goes up by 10 mJ about a hundred times a second.
const SCRIPT: &str = r#"
set -e
mount -t tmpfs tmpfs /sys/class
Z=/sys/class/powercap/intel-rapl:0
mkdir -p $Z
echo package-0 >$Z/name
echo long_term >$Z/constraint_0_name
echo 15000000 >$Z/constraint_0_power_limit_uw
echo 262143328850 >$Z/max_energy_range_uj
echo 1000000 >$Z/energy_uj
(i=0; while [ $i -lt 3000 ] && [ -d $Z ]; do
    i=$((i + 1)); echo $((1000000 + i * 10000)) >$Z/next; mv $Z/next $Z/energy_uj; sleep 0.01
done) & W=$!
trap 'kill $W' EXIT
sleep 0.1
"$P" set power_limit_uw=10000000
"$P" set power_limit_uw=100000
"$P" undo --all
cat $Z/constraint_0_power_limit_uw
"#;

#[test]
fn a_power_limit_is_witnessed_by_the_watts_of_its_zone() {
    let Some(desk) = Desk::as_root() else { return };
    let mut command = Command::new("unshare");
    desk.furnish(&mut command);
    // A network of its own: who changes the machine is known in each by a name of its own.
    command.args(["--mount", "--net", "--propagation", "private", "sh", "-c", SCRIPT]);
    let ran = Ran::of(&command.env("P", env!("CARGO_BIN_EXE_powerband")).output().unwrap()).ended(0);
    let told =
        ran.out.lines().find_map(|line| line.strip_prefix("witness: package-0/long_term: asked at most 10 W, draws "));
    let watts: f64 = told.unwrap_or_else(|| panic!("{}", ran.out)).split(' ').next().unwrap().parse().unwrap();
    // 10 mJ in no less than 10 ms is 1 W at most; two may fall into one moment's edges.
    assert!(watts > 0.0 && watts < 1.3, "{}", ran.out);
    assert!(ran.out.contains("which a moment may; the limit is a mean"), "{}", ran.out);
    assert!(ran.out.trim_end().ends_with("15000000"), "{}", ran.out);
}
