//! The processors of the host as one device.

use std::sync::OnceLock;

use kyoho_core::Level;

use super::{ALL_OF_THE_CATALOGUE, Backend, DeviceDescription, DeviceKind};

/// Describes the CPU as a device.
pub fn describe() -> DeviceDescription {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let details = format!("{threads} hardware thread{}, {}", if threads == 1 { "" } else { "s" }, Level::best().name());
    DeviceDescription {
        backend: Backend::Cpu,
        kind: DeviceKind::Cpu,
        platform: String::new(),
        name: processor_name(),
        details,
        abilities: ALL_OF_THE_CATALOGUE.into(),
    }
}

/// Returns the processor's name as the system gives it.
fn processor_name() -> String {
    static NAME: OnceLock<String> = OnceLock::new();
    let read = || {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        name.map_or(std::env::consts::ARCH, |(_, name)| name.trim()).to_string()
    };
    NAME.get_or_init(read).clone()
}
