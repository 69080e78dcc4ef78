//! Sums of CPU time out of `/proc/stat`, as the daemon reads them.
use powerband_cpuspeed::Sums;
use powerband_machine::{Handle, Look};
use powerband_record::CpuList;
pub(super) use powerband_sysfs::proc::STAT as FILE;

/// The file's text; nothing where it cannot be read just now.
pub(super) fn read(machine: &mut dyn Look, file: Handle) -> String {
    let mut texts = Vec::new();
    machine.read_many(&[file], &mut texts);
    texts.pop().and_then(Result::ok).unwrap_or_default()
}

/// The sums of some CPUs, in their order. One that has no line, because it is offline, keeps those of `before`: no time has
/// passed for it, and it wishes for nothing.
pub(super) fn of(text: &str, cpus: &CpuList, before: &[Sums]) -> Vec<Sums> {
    let place = |number: u32| cpus.as_slice().iter().position(|&cpu| cpu == number);
    let mut sums = before.to_vec();
    sums.resize(cpus.len(), Sums::default());
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let number = words.next().and_then(|word| word.strip_prefix("cpu")?.parse().ok());
        let Some(place) = number.and_then(place) else { continue };
        let mut next = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        sums[place] = Sums { user: next(), nice: next(), system: next(), idle: next(), iowait: next() };
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_has_its_line_and_one_without_stands_still() {
        let text = "cpu  9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu10 10 0 0 90 0 0 0\nintr 5\ncpu2 5 0\n";
        let cpus: CpuList = "0,2-3,10".parse().unwrap();
        let was = Sums { user: 7, ..Sums::default() };
        let sums = of(text, &cpus, &[Sums::default(), Sums::default(), was]);
        assert_eq!(sums[0], Sums { user: 1, nice: 2, system: 3, idle: 4, iowait: 5 });
        assert_eq!((sums[1].user, sums[1].idle), (5, 0));
        assert_eq!((sums[2], sums[3].idle), (was, 90));
        assert_eq!(of("", &cpus, &sums), sums, "nothing could be read");
    }
}
