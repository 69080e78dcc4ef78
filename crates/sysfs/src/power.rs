//! Power and heat: zones of powercap, sensors, batteries, what cools.
paths! {
    HWMON = "/sys/class/hwmon";
    IIO = "/sys/bus/iio/devices";
    PERF_POWER = "/sys/bus/event_source/devices/power";
    PLATFORM_PROFILE = "/sys/firmware/acpi/platform_profile";
    PM_PROFILE = "/sys/firmware/acpi/pm_profile";
    POWERCAP = "/sys/class/powercap";
    POWER_SUPPLY = "/sys/class/power_supply";
    THERMAL = "/sys/class/thermal";
}
