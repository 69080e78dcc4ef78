//! The build script of both programs, this one and the command.
//!
//! The profile that saves size ends a program at a panic and keeps no debug information: nothing is unwound, no backtrace names
//! anything, and the tables for that, an eighth of a program, are left out. Cargo tells a build script no profile's panic
//! setting, so that it goes by the optimization that this profile alone has.
fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    println!("cargo::rerun-if-changed=../agent/build.rs");
    println!("cargo::rerun-if-changed=../agent/without_unwinding.ld");
    // mold has no linker scripts of this kind.
    let names_mold = |name: &str| std::env::var(name).is_ok_and(|it| it.contains("mold"));
    let is_mold = names_mold("RUSTC_LINKER") || names_mold("CARGO_ENCODED_RUSTFLAGS");
    if is("OPT_LEVEL", "z") && is("DEBUG", "false") && !is_mold {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../agent/without_unwinding.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{script}");
    }
}
