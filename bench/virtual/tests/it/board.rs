//! What the board gives the kernel, and what powerband sees of it.
use std::time::{Duration, Instant};

use powerband_bench_virtual::Guest;
use serde_json::json;

use crate::desk::{Desk, on_desk, on_paced_desk};

/// What the driver shows of each CPU.
const DRIVEN: &str = "affected_cpus bios_limit cpuinfo_max_freq cpuinfo_min_freq cpuinfo_transition_latency freqdomain_cpus \
    related_cpus scaling_available_frequencies scaling_available_governors scaling_cur_freq scaling_driver scaling_governor \
    scaling_max_freq scaling_min_freq scaling_setspeed stats\nreset time_in_state total_trans trans_table\n\
    acpi-cpufreq\n2400000 2133000 1867000 1600000\nconservative ondemand performance powersave schedutil userspace\n2400000\n10000\n";

#[test]
fn the_kernel_drives_the_boards_p_states_and_info_sees_policies_governors_and_the_meter() {
    on_desk(|desk| {
        for cpu in 0..2 {
            let shown = desk.sh(&format!(
                "cd /sys/devices/system/cpu/cpu{cpu}/cpufreq; echo $(ls); echo $(ls stats); cat scaling_driver
                 echo $(cat scaling_available_frequencies); echo $(tr ' ' '\\n' <scaling_available_governors | sort)
                 cat bios_limit cpuinfo_transition_latency freqdomain_cpus"
            ));
            assert_eq!(shown, format!("{DRIVEN}{cpu}\n"));
        }
        let info = desk.json("info");
        let policies = info["cpu"]["policies"].as_array().unwrap();
        assert_eq!(policies.len(), 2);
        for (number, policy) in policies.iter().enumerate() {
            let seen = ["name", "driver", "steps_khz", "latency_ns"].map(|field| &policy[field]);
            let steps = json!([1_600_000, 1_867_000, 2_133_000, 2_400_000]);
            assert_eq!(json!(seen), json!([format!("policy{number}"), "acpi-cpufreq", steps, 10_000]));
            assert_eq!(policy["available_governors"].as_array().unwrap().len(), 6);
        }
        let meter = &info["meters"]["meters"][0];
        assert_eq!((meter["meter"].as_str(), meter["interval_ns"].as_u64()), (Some("hwmon"), Some(100_000_000)));
        assert_eq!(info["turned"], json!([]));
    });
}

#[test]
fn a_chosen_clock_reaches_the_board_and_paces_the_cpu() {
    on_paced_desk(|desk| {
        for (khz, state) in [(1_600_000, 3), (2_400_000, 0)] {
            desk.powerband(0, &format!("set governor=userspace freq={khz}kHz"));
            assert_eq!(desk.states(), [state; 2]);
            desk.until("the silicon has seen it", |desk| desk.readings().states == [state; 2]);
            let spinner = desk.start("taskset 2 sh -c 'while :; do :; done'");
            reaches_its_pace(desk, TOP_PER_S * f64::from(khz) / 2_400_000.0);
            desk.sh(&format!("kill {spinner}"));
            desk.powerband(0, "undo --all");
        }
    });
}

/// Instructions a second at the highest clock.
const TOP_PER_S: f64 = 100e6;
/// More than the time for which a CPU catches up with what it missed, s.
const BEHIND_S: f64 = 0.2;

/// The second CPU never runs more than its clock allows, and comes near to that whenever this machine lets it run for half a second.
fn reaches_its_pace(desk: &Guest, allowed_per_s: f64) {
    let mut shares = Vec::new();
    for _ in 0..100 {
        // The time includes both readings: a delay of this machine cannot make the CPU seem too fast.
        let begun = Instant::now();
        let before = desk.instructions(1).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        let ran = (desk.instructions(1).unwrap() - before) as f64;
        let passed_s = begun.elapsed().as_secs_f64();
        assert!(ran < allowed_per_s * (passed_s + BEHIND_S), "{ran} instructions in {passed_s} s");
        shares.push(ran / (allowed_per_s * passed_s));
        if shares.last().is_some_and(|share| *share > 0.9) {
            return;
        }
    }
    panic!("never near its pace of {allowed_per_s} instructions a second: {shares:?}");
}

#[test]
fn the_meter_reads_what_the_silicon_wrote() {
    on_desk(|desk| {
        let average = "cat /sys/class/hwmon/hwmon0/device/power1_average";
        for power_mw in [7_200, 17_280, 14_400] {
            desk.fix_power(Some(power_mw));
            desk.until("the silicon has written", |desk| desk.readings().power_mw == power_mw);
            desk.until("the meter shows it", |desk| desk.sh(average).trim() == format!("{power_mw}000"));
        }
        desk.fix_power(None);
        desk.until("the meter follows the guest again", |desk| desk.readings().power_mw != 14_400);
    });
}
