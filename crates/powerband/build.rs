//! A program that ends at a panic, and has no debug information, unwinds nothing and names nothing in a backtrace: its tables
//! for that, an eighth of it, are left out.
fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../agent/without_unwinding.ld");
    if is("CARGO_CFG_PANIC", "abort") && is("DEBUG", "false") {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../agent/without_unwinding.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{script}");
    }
}
