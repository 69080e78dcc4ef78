//! Levels of AMD's own driver; its files are in the stories.
use powerband_sim::cpufreq::Cppc;

#[test]
fn levels_become_the_clocks_that_recorded_machines_show() {
    // Of `cpupower frequency-info` on machines with this driver: highest, nominal and lowest non-linear level, nominal MHz;
    // maximum and lowest non-linear MHz. The first from sysfs as 3501000 and 1701000 kHz, the others rounded by the program.
    for (levels, nominal_mhz, shown_mhz) in [
        ([255, 204, 124], 2_801, [3_501, 1_701]),
        ([166, 119, 41], 3_200, [4_462, 1_100]),
        ([166, 152, 115], 2_000, [2_183, 1_511]),
        ([166, 111, 57], 3_401, [5_084, 1_743]),
    ] {
        let [highest_perf, nominal_perf, lowest_nonlinear_perf] = levels;
        let cppc = Cppc { highest_perf, nominal_perf, lowest_nonlinear_perf };
        let mhz = [highest_perf, lowest_nonlinear_perf].map(|perf| cppc.mhz(perf, nominal_mhz));
        assert_eq!(mhz, shown_mhz, "{levels:?}");
    }
}
