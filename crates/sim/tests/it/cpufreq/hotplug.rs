//! hotplug
