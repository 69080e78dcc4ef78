//! What is read around a load behind a shell, by that shell and its clock: before, every period meanwhile, and after.
use powerband_machine::{Errno, Sample, Sampling};

use super::clock::Clock;
use super::hand::{Hand, words};
use super::handles::Handles;
use powerband_record::InOrder;

/// The watches of one load.
#[derive(Debug, Default)]
pub(super) struct Watched {
    number: u64,
    /// How many files each has.
    files: Vec<usize>,
}

impl Watched {
    /// Puts down there what is to be read around the load of this number.
    pub(super) fn prepare(hand: &Hand, number: u64, around: &[Sampling], handles: &Handles) -> Result<Watched, Errno> {
        let mut watched = Watched { number, files: Vec::new() };
        for (place, watch) in around.iter().enumerate() {
            let paths: Option<Vec<String>> =
                watch.handles.iter().map(|&handle| handles.path(handle).map(str::to_owned)).collect();
            let paths = paths.ok_or(Errno::EBADF)?;
            if paths.iter().any(|path| path.contains('\n')) {
                return Err(Errno::EINVAL);
            }
            watched.files.push(paths.len());
            let lines = if paths.is_empty() { vec!["set --".into()] } else { words(&paths)? };
            let period = watch.period_ns.map_or_else(String::new, |period_ns| {
                let (seconds, millis) = (period_ns / 1_000_000_000, period_ns / 1_000_000 % 1000);
                // A sleep that knows only whole seconds takes the next longer one.
                let whole = period_ns.div_ceil(1_000_000_000);
                format!("pb_s={seconds}.{millis:03}; sleep 0.01 || pb_s={whole}; echo \"$pb_s\" >\"$pb_o.period\"; ")
            });
            let script = format!(
                "pb_o=$pb_tmp/watch.{number}.{place}; {period}for pb_f in \"$@\"; do printf '%s\\n' \"$pb_f\"; done \
                 >\"$pb_o.files\""
            );
            hand.turn::<0>(&lines, &script).ok_or(Errno::ENOLINK)?;
        }
        Ok(watched)
    }

    /// What was read, once the load has ended.
    pub(super) fn collect(&self, hand: &Hand) -> Vec<Vec<Sample>> {
        let of = |(place, &files): (usize, &usize)| {
            let script = format!(
                "pb_o=$pb_tmp/watch.{}.{place}; for pb_f in around during; do pb_x cat \"$pb_o.$pb_f\"; done; rm -f \"$pb_o\".*",
                self.number
            );
            let Some((_, [around, _, during, _])) = hand.call(&[], &script) else { return Vec::new() };
            let mut samples = samples(&String::from_utf8_lossy(&around), files);
            let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return samples };
            // The sampler may have read once more while it was being ended.
            let inside = first.at_ns..last.at_ns;
            let between = self::samples(&String::from_utf8_lossy(&during), files);
            samples.extend(between.into_iter().filter(|sample| inside.contains(&sample.at_ns)));
            samples.order_by_key(|sample| sample.at_ns);
            samples
        };
        self.files.iter().enumerate().map(of).collect()
    }
}

/// The whole samples of a file: `@UPTIME FINE`, then `=TEXT` or `!` for each of the files read.
fn samples(text: &str, files: usize) -> Vec<Sample> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut clock = Clock::default();
    let mut samples = Vec::new();
    for line in whole.lines() {
        let last: Option<&mut Sample> = samples.last_mut();
        match (line.split_at_checked(1), last) {
            (Some(("@", times)), _) => samples.push(Sample { at_ns: clock.at_ns(times), texts: Vec::new() }),
            (Some(("=", text)), Some(sample)) => sample.texts.push(Ok(format!("{text}\n"))),
            (Some(("!", _)), Some(sample)) => sample.texts.push(Err(Errno::EIO)),
            _ => {}
        }
    }
    samples.retain(|sample| sample.texts.len() == files);
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_when_it_is_whole() {
        let seen = samples("@1.00 ?\n=1\n!\n@1.10 ?\n=3\n=4\n@1.20 ?\n=5\n=6", 2);
        let texts: Vec<_> = seen.iter().map(|sample| sample.texts.clone()).collect();
        let ok = |text: &str| Ok(format!("{text}\n"));
        assert_eq!(texts, [vec![ok("1"), Err(Errno::EIO)], vec![ok("3"), ok("4")]]);
        assert_eq!(seen[1].at_ns, 1_100_000_000);
    }

    #[test]
    fn a_fine_clock_counts_while_it_agrees() {
        let at = |text| samples(text, 0).iter().map(|sample| sample.at_ns).collect::<Vec<_>>();
        assert_eq!(at("@1.00 5000000000\n@2.00 6001234567\n"), [1_000_000_000, 2_001_234_567]);
        // Somebody has set it meanwhile.
        assert_eq!(at("@1.00 5000000000\n@2.00 9000000000\n"), [1_000_000_000, 2_000_000_000]);
    }
}
