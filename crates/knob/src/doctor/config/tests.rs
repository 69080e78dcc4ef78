//! Texts that are a configuration, and texts that are none.
use super::*;

#[test]
fn symbols_stand_as_their_last_line_says() {
    let config = Config::parse(
        "# Linux/x86 6.1.192 Kernel Configuration\nCONFIG_X86=y\nCONFIG_HZ=250\nCONFIG_TUN=m\r\n\
         # CONFIG_ACPI is not set\nCONFIG_NET=y\n# CONFIG_NET is not set\n",
    )
    .unwrap();
    let states = ["X86", "HZ", "TUN", "ACPI", "NET", "PCI"].map(|name| config.state(name));
    assert_eq!(
        states,
        [
            SymbolState::Built,
            SymbolState::Built,
            SymbolState::Module,
            SymbolState::Off,
            SymbolState::Off,
            SymbolState::Absent
        ]
    );
    assert_eq!((config.value("HZ"), config.arch(), config.version()), (Some("250"), Arch::X86, (6, 1, 192)));
}

#[test]
fn headings_of_all_times_tell_the_version() {
    for (heading, version) in [
        ("# Linux/arm64 6.12.0-rc3 Kernel Configuration", (6, 12, 0)),
        ("# Linux/arm64 6.12-rc3 Kernel Configuration", (6, 12, 0)),
        ("# Linux/x86_64 2.6.32-754.el6.x86_64 Kernel Configuration", (2, 6, 32)),
        ("# Linux kernel version: 2.6.18-prep", (2, 6, 18)),
        ("# Automatically generated make config: don't edit", (u32::MAX, 0, 0)),
        ("# Linux/x86 six Kernel Configuration", (u32::MAX, 0, 0)),
    ] {
        let config = Config::parse(&format!("#\n{heading}\n#\nCONFIG_ARM64=y\n")).unwrap();
        assert_eq!(config.version(), version, "{heading}");
        assert_eq!(config.arch(), Arch::Arm);
    }
}

#[test]
fn what_is_no_configuration_is_told_apart() {
    assert_eq!(Config::parse(""), Err(ConfigError::Empty));
    assert_eq!(Config::parse(" \n\n"), Err(ConfigError::Empty));
    for text in ["<html></html>\n", "SMP=y\n", "CONFIG_SMP\nCONFIG_=y\nCONFIG_A B=y\n", "# CONFIG_SMP is set\n"] {
        assert_eq!(Config::parse(text), Err(ConfigError::NoSymbol), "{text}");
    }
}
