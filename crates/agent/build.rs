//! The build script of both programs, this one and the command, whose folder has links to it and its linker script.
//!
//! The profile that saves size ends a program at a panic and keeps no debug information: nothing is unwound, no backtrace names
//! anything, and the tables for that, an eighth of a program, are left out. Cargo tells a build script no profile's panic
//! setting, so that it goes by the optimization that this profile alone has.
fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=without_unwinding.ld");
    // mold has no linker scripts of this kind.
    let names_mold = |name: &str| std::env::var(name).is_ok_and(|it| it.contains("mold"));
    let is_mold = names_mold("RUSTC_LINKER") || names_mold("CARGO_ENCODED_RUSTFLAGS");
    // Elsewhere the C library's own start refers to these tables.
    let is_x86 = is("CARGO_CFG_TARGET_ARCH", "x86_64");
    if is("OPT_LEVEL", "z") && is("DEBUG", "false") && is_x86 && !is_mold {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/without_unwinding.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{script}");
        if has_packed_relocations() {
            println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        }
    }
}

/// Whether the C library that is linked in starts a program whose relocations are packed, which saves a twenty-fifth of it: glibc
/// does from 2.36 on. Of another machine's library nothing is known.
fn has_packed_relocations() -> bool {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let version = std::process::Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let mut numbers = text.trim().trim_start_matches("glibc ").split('.').map(|number| number.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    variable("HOST") == variable("TARGET") && variable("CARGO_CFG_TARGET_ENV") == "gnu" && version >= (2, 36)
}
