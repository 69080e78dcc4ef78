//! The profile that saves size ends a program at a panic and keeps no debug information: nothing is unwound, no backtrace names
//! anything, and the tables for that, an eighth of a program, are left out. Cargo tells a build script no profile's panic
//! setting, so that it goes by the optimization that this profile alone has.
fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../agent/without_unwinding.ld");
    if is("OPT_LEVEL", "z") && is("DEBUG", "false") {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../agent/without_unwinding.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{script}");
    }
}
