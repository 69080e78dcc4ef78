//! Fragments against small configurations with the facts of real ones.
use proptest::prelude::*;

use super::*;

/// What Debian's kernel of 6.1 for amd64 says of everything here.
const AMD64: &str = include_str!("tests/amd64.config");

const ARM: &str = include_str!("tests/arm.config");

/// A configuration without the lines of these symbols.
fn without(text: &str, symbols: &[&str]) -> String {
    let names = |line: &str, name: &str| {
        line.strip_prefix("# ")
            .unwrap_or(line)
            .strip_prefix("CONFIG_")
            .is_some_and(|rest| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(['=', ' '])))
    };
    let kept = text.lines().filter(|line| !symbols.iter().any(|symbol| names(line, symbol)));
    kept.map(|line| format!("{line}\n")).collect()
}

fn lines(text: &str, default: Option<&str>) -> Vec<String> {
    Fragment::of(&Config::parse(text).unwrap(), default).lines()
}

#[test]
fn what_is_off_comes_with_what_it_depends_on_and_in_that_order() {
    let text = without(AMD64, &["ACPI", "ACPI_PROCESSOR", "X86_ACPI_CPUFREQ", "POWERCAP", "INTEL_RAPL"]);
    let fragment = lines(&text, None);
    let place =
        |wanted: &str| fragment.iter().position(|line| line == wanted).unwrap_or_else(|| panic!("{fragment:?}"));
    assert!(place("CONFIG_ACPI=y") < place("CONFIG_ACPI_PROCESSOR=y"));
    assert!(place("CONFIG_ACPI_PROCESSOR=y") < place("CONFIG_X86_ACPI_CPUFREQ=m"));
    assert!(place("CONFIG_POWERCAP=y") < place("CONFIG_INTEL_RAPL=m"));
}

#[test]
fn what_is_there_or_has_no_way_to_be_is_left_out() {
    assert_eq!(lines(AMD64, None), ["CONFIG_CPU_IDLE_GOV_TEO=y", "CONFIG_CPU_IDLE_GOV_HALTPOLL=y"]);
    // Not a guest, not for Intel, and of 2.6.32, when there was no teo.
    let text = without(AMD64, &["KVM_GUEST", "CPU_SUP_INTEL", "INTEL_IDLE"]);
    let config = Config::parse(&text).unwrap();
    let fragment = Fragment::of(&config, None);
    assert_eq!(fragment.lines(), ["CONFIG_CPU_IDLE_GOV_TEO=y"]);
    let lacks = [("CPU_IDLE_GOV_HALTPOLL", "KVM_GUEST".to_owned()), ("INTEL_IDLE", "CPU_SUP_INTEL".to_owned())];
    assert_eq!(fragment.out_of_reach, lacks);
    assert_eq!(lines(&AMD64.replace("6.1.192", "2.6.32"), None), ["CONFIG_CPU_FREQ_STAT_DETAILS=y"]);
}

#[test]
fn a_kernel_without_cpufreq_gets_all_of_it_for_its_architecture() {
    let fragment = lines(ARM, None);
    for line in ["CONFIG_CPU_FREQ=y", "CONFIG_CPU_FREQ_GOV_ONDEMAND=y", "CONFIG_CPUFREQ_DT=m", "CONFIG_CFS_BANDWIDTH=y"]
    {
        assert!(fragment.iter().any(|other| other == line), "{line} {fragment:?}");
    }
    let foreign = ["X86", "INTEL", "ACPI", "AMD", "SCMI"];
    assert!(!fragment.iter().any(|line| foreign.iter().any(|word| line.contains(word))), "{fragment:?}");
    // Without modules all of it is built in.
    let built_in = lines(&without(ARM, &["MODULES"]), None);
    assert!(built_in.contains(&"CONFIG_CPUFREQ_DT=y".to_owned()) && !built_in.iter().any(|line| line.ends_with("=m")));
}

#[test]
fn a_board_gets_the_driver_of_its_kernels_age_or_it_is_known_that_it_gets_none() {
    let of = |release: &str, board: &str| {
        let text = format!("{}{board}", ARM.replace("5.10.0", release));
        let config = Config::parse(&text).unwrap();
        let fragment = Fragment::of(&config, None);
        let lines = fragment.lines().into_iter().filter(|line| line.contains("CPUFREQ"));
        (lines.collect::<Vec<_>>(), fragment.brings_driver())
    };
    let omap = "CONFIG_ARCH_OMAP2PLUS=y\n";
    assert_eq!(of("3.2.7", omap), (vec![], false));
    assert_eq!(of("3.3.7", omap), (vec![], true), "built with the processor");
    assert_eq!(of("3.4.1", omap), (vec!["CONFIG_ARM_OMAP2PLUS_CPUFREQ=y".to_owned()], true));
    assert_eq!(of("3.16.7", omap), (vec!["CONFIG_ARM_OMAP2PLUS_CPUFREQ=y".to_owned()], true));
    assert_eq!(of("3.16.7", "CONFIG_REGULATOR=y\n"), (vec!["CONFIG_GENERIC_CPUFREQ_CPU0=m".to_owned()], true));
    assert_eq!(of("3.16.7", ""), (vec![], false));
    let dt = "CONFIG_CPUFREQ_DT=m".to_owned();
    for (board, line) in [
        ("CONFIG_CLK_RASPBERRYPI=y\n", "CONFIG_ARM_RASPBERRYPI_CPUFREQ=m"),
        ("CONFIG_ARCH_SUNXI=y\nCONFIG_NVMEM_SUNXI_SID=y\n", "CONFIG_ARM_ALLWINNER_SUN50I_CPUFREQ_NVMEM=m"),
        ("CONFIG_ARCH_MXC=y\n", "CONFIG_ARM_IMX_CPUFREQ_DT=m"),
    ] {
        assert_eq!(of("6.1.0", board), (vec![dt.clone(), line.to_owned()], true));
        assert_eq!(of("5.2.0", board), (vec![dt.clone()], true));
    }
}

#[test]
fn a_driver_that_takes_over_is_added_only_where_there_is_none() {
    let takes_over = |text: &str| lines(text, None).iter().filter(|line| line.contains("PSTATE")).count();
    let bare = without(AMD64, &["X86_INTEL_PSTATE", "X86_AMD_PSTATE", "X86_ACPI_CPUFREQ", "SCHED_MC_PRIO"]);
    assert_eq!(takes_over(&bare), 2);
    assert_eq!(takes_over(&format!("{bare}CONFIG_X86_POWERNOW_K8=m\n")), 0);
}

#[test]
fn a_module_can_only_be_as_near_as_what_it_needs() {
    let text = without(AMD64, &["MODULES", "ACPI_PROCESSOR", "X86_ACPI_CPUFREQ", "X86_INTEL_PSTATE", "X86_AMD_PSTATE"]);
    assert!(lines(&text, None).contains(&"CONFIG_X86_ACPI_CPUFREQ=y".to_owned()));
    let text = format!("{text}CONFIG_ACPI_PROCESSOR=m\n");
    assert!(lines(&text, None).contains(&"CONFIG_X86_ACPI_CPUFREQ=m".to_owned()));
}

#[test]
fn a_default_governor_is_built_in_and_alone() {
    let fragment = lines(AMD64, Some("userspace"));
    assert_eq!(
        fragment[2..],
        [
            "CONFIG_CPU_FREQ_GOV_USERSPACE=y",
            "# CONFIG_CPU_FREQ_DEFAULT_GOV_SCHEDUTIL is not set",
            "CONFIG_CPU_FREQ_DEFAULT_GOV_USERSPACE=y"
        ]
    );
    assert_eq!(lines(AMD64, Some("schedutil")), lines(AMD64, None));
}

#[test]
fn intel_pstate_lets_no_governor_that_samples_be_the_default() {
    let config = Config::parse(AMD64).unwrap();
    let fragment = Fragment::of(&config, Some("ondemand"));
    assert!(fragment.no_default.as_ref().is_some_and(|why| why.contains("intel_pstate")), "{fragment:?}");
    assert_eq!(fragment.lines(), lines(AMD64, None));
    // On a kernel with no driver, or with one CPU until now, it is kept out.
    let drivers = ["X86_INTEL_PSTATE", "X86_AMD_PSTATE", "X86_ACPI_CPUFREQ", "SCHED_MC_PRIO"];
    let bare = without(AMD64, &drivers);
    let one_cpu = without(&bare, &["SMP", "HOTPLUG_CPU", "CPU_FREQ_GOV_SCHEDUTIL"]);
    for (text, line) in [(&bare, "CONFIG_X86_ACPI_CPUFREQ=m"), (&one_cpu, "# CONFIG_SCHED_MC_PRIO is not set")] {
        let fragment = lines(text, Some("ondemand"));
        assert!(fragment.contains(&line.to_owned()), "{fragment:?}");
        assert!(fragment.contains(&"CONFIG_CPU_FREQ_DEFAULT_GOV_ONDEMAND=y".to_owned()), "{fragment:?}");
        assert!(!fragment.iter().any(|line| line.contains("INTEL_PSTATE")), "{fragment:?}");
    }
}

#[test]
fn the_choice_of_a_default_has_what_kernels_of_that_age_offer() {
    let no_default = |release: &str, more: &str, name: &str| {
        let text = without(AMD64, &["X86_INTEL_PSTATE", "SCHED_MC_PRIO", "CPU_FREQ_DEFAULT_GOV_SCHEDUTIL"]);
        let config = Config::parse(&(text.replace("6.1.192", release) + more)).unwrap();
        let fragment = Fragment::of(&config, Some(name));
        let line = format!("CONFIG_CPU_FREQ_DEFAULT_GOV_{}=y", name.to_uppercase());
        assert_eq!(fragment.lines().contains(&line), fragment.no_default.is_none(), "{release} {name}: {fragment:?}");
        fragment.no_default
    };
    for (release, more, name, why) in [
        ("2.6.18", "", "userspace", None),
        ("2.6.18", "", "ondemand", Some("before Linux 2.6.24")),
        ("2.6.32", "", "ondemand", None),
        ("2.6.32", "", "powersave", Some("CONFIG_EMBEDDED")),
        ("2.6.32", "CONFIG_EMBEDDED=y\n", "powersave", None),
        ("3.10.0", "", "powersave", Some("CONFIG_EXPERT")),
        ("4.19.0", "", "powersave", None),
    ] {
        let said = no_default(release, more, name);
        let is_as_meant = match why {
            Some(why) => said.as_ref().is_some_and(|said| said.contains(why)),
            None => said.is_none(),
        };
        assert!(is_as_meant, "{release} {name}: {said:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_merged_fragment_leaves_nothing_to_merge(
        cut in proptest::sample::subsequence(AMD64.lines().skip(2).collect::<Vec<_>>(), 0..40),
        default in proptest::option::of(0..DEFAULTS.len()),
        // To be off is said by a line or by none.
        told in any::<bool>(),
    ) {
        let mut text: String = AMD64.lines().filter(|line| !cut.contains(line)).map(|line| format!("{line}\n")).collect();
        if told {
            let names = cut.iter().filter_map(|line| line.split_once('='));
            text.extend(names.map(|(name, _)| format!("# {name} is not set\n")));
        }
        let default = default.map(|index| DEFAULTS[index].0);
        let fragment = lines(&text, default);
        let merged = format!("{text}{}\n", fragment.join("\n"));
        prop_assert_eq!(lines(&merged, default), Vec::<String>::new(), "{:?}", fragment);
        // At most one governor is the default, and no line is there twice.
        let config = Config::parse(&merged).unwrap();
        prop_assert!(DEFAULTS.iter().filter(|(.., symbol)| config.has(symbol)).count() <= 1);
        let mut names: Vec<&str> = fragment.iter().filter_map(|line| line.trim_start_matches("# ").split(['=', ' ']).next()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), count);
        // Whatever is on has what it needs.
        for symbol in ALL.iter().filter(|symbol| fragment.iter().any(|line| line.starts_with(&format!("CONFIG_{}=", symbol.name)))) {
            for need in symbol.needs {
                prop_assert!(need.split('|').any(|one| config.has(one)), "{} needs {}", symbol.name, need);
            }
        }
    }
}
