//! How often each CPU was interrupted, by `/proc/interrupts`.
use std::collections::BTreeMap;

use powerband_machine::{Errno, Handle, Look};
use powerband_record::IntoOrdered as _;

use super::{Text, rate};

/// `/proc/interrupts`, open.
#[derive(Debug)]
pub struct Interrupts(Handle);

impl Interrupts {
    /// Opens it.
    ///
    /// # Errors
    /// The kernel's error number.
    pub fn open(machine: &mut dyn Look) -> Result<Self, Errno> {
        machine.open(powerband_sysfs::proc::INTERRUPTS).map(Interrupts)
    }

    /// What is read of it.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        vec![self.0]
    }

    /// Interrupts of every kind since boot by CPU, from what its handles read. Lines of counts that belong to no CPU
    /// (`ERR`, `MIS`) are left out.
    #[must_use]
    pub fn snapshot(&self, texts: &[Text]) -> BTreeMap<u32, u64> {
        sums(texts)
    }

    /// Interrupts a second between two snapshots `ns` apart; `None` where the count went back, as after a CPU came again.
    #[must_use]
    pub fn rate_per_s(earlier: u64, later: u64, ns: u64) -> Option<f64> {
        rate(later.checked_sub(earlier)?, ns)
    }
}

/// Sums of a table with a column for each CPU, by CPU.
pub(super) fn sums(texts: &[Text]) -> BTreeMap<u32, u64> {
    let Some(Ok(text)) = texts.first() else { return BTreeMap::new() };
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default().split_whitespace();
    let cpus: Vec<u32> = head.filter_map(|name| name.strip_prefix("CPU")?.parse().ok()).collect();
    let (mut sums, mut counts) = (vec![0_u64; cpus.len()], vec![0_u64; cpus.len()]);
    for line in lines {
        let Some((_, words)) = line.split_once(':') else { continue };
        if read_counts(words.as_bytes(), &mut counts) {
            sums.iter_mut().zip(&counts).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        }
    }
    cpus.into_iter().zip(sums).into_map()
}

/// The sum over all CPUs of the lines that `ours` tells by their label and the words behind the counts; `None` where there is
/// none.
pub(super) fn sum_of_lines(text: &str, ours: impl Fn(&str, &[&str]) -> bool) -> Option<u64> {
    let mut lines = text.lines();
    let cpus = lines.next()?.split_whitespace().count();
    let line = |line: &str| {
        let (label, words) = line.split_once(':')?;
        let words: Vec<&str> = words.split_whitespace().collect();
        let (counts, words) = words.split_at_checked(cpus)?;
        let sum: u64 = counts.iter().map(|count| count.parse::<u64>().ok()).sum::<Option<u64>>()?;
        ours(label.trim(), words).then_some(sum)
    };
    let mut sums = lines.filter_map(line);
    let first = sums.next()?;
    Some(sums.fold(first, u64::saturating_add))
}

/// Whether a line begins with as many numbers, which are put there. The table is long and read often.
fn read_counts(line: &[u8], counts: &mut [u64]) -> bool {
    let mut bytes = line.iter().copied().peekable();
    for count in counts {
        while bytes.next_if_eq(&b' ').is_some() {}
        let Some(first) = bytes.next_if(u8::is_ascii_digit) else { return false };
        *count = u64::from(first - b'0');
        while let Some(digit) = bytes.next_if(u8::is_ascii_digit) {
            *count = count.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        }
        if bytes.peek().is_some_and(|&byte| byte != b' ') {
            return false;
        }
    }
    true
}
