//! Modules of the kernel: their folders and parameters.
paths! {
    MODULES = "/sys/module/";
    DEFAULT_GOVERNOR = "/sys/module/cpufreq/parameters/default_governor";
}

/// The folder of a module, by its name as modprobe takes it.
pub fn folder(module: &str) -> String {
    format!("{MODULES}{}", module.replace('-', "_"))
}

/// The file of a module's parameter.
pub fn parameter(module: &str, name: &str) -> String {
    format!("{}/parameters/{name}", folder(module))
}
