//! Two guests on one cable, shared by the tests of network cards alone: what happens to them concerns no other test.
use powerband_bench_virtual::{BootOptions, Cable, Guest, GuestRig, OVER_THE_CABLE, Result, Shared, tools};
use serde_json::Value;

use crate::desk::{had, repeated};

/// The guests at both ends.
pub(crate) struct Pair {
    pub(crate) near: Guest,
    pub(crate) far: Guest,
}

impl GuestRig for Pair {
    fn guests(&mut self) -> Vec<&mut Guest> {
        vec![&mut self.near, &mut self.far]
    }
}

impl Pair {
    fn boot() -> Result<Pair> {
        let mut options =
            BootOptions { cable: Some(Cable::Open), tools: tools::for_cables(), ..BootOptions::machine("quadcore")? };
        let near = Guest::boot(&options)?;
        options.cable = Some(Cable::Into(near.cable()));
        Ok(Pair { far: Guest::boot(&options)?, near })
    }

    /// What powerband in the near guest prints as JSON, having ended well.
    #[track_caller]
    pub(crate) fn json(&mut self, words: &[&str]) -> Value {
        let ran = self.near.run(&[&["powerband", "--json"], words].concat()).unwrap();
        assert_eq!(ran.code, 0, "{words:?}\n{}{}", ran.text(), String::from_utf8_lossy(&ran.err));
        serde_json::from_str(&ran.text()).unwrap_or_else(|error| panic!("{error}: {}", ran.text()))
    }

    /// What both NICs hold back, read by powerband in the near guest.
    #[track_caller]
    pub(crate) fn delays(&mut self) -> String {
        let ran = self.near.run(&["powerband", "--far", OVER_THE_CABLE, "get", "both/nic.rx-usecs@eth0"]).unwrap();
        assert_eq!(ran.code, 0, "{}{}", ran.text(), String::from_utf8_lossy(&ran.err));
        ran.text()
    }
}

/// Runs a test on the two guests; once more where one of them hung.
pub(crate) fn on_pair(test: fn(&mut Pair)) {
    static PAIR: Shared<Pair> = Shared::new(Pair::boot);
    repeated(&PAIR, || {
        let Some(mut pair) = had(PAIR.hold()) else { return };
        // Both clocks go on only now, and a link that was down needs a while.
        let ran = pair.near.run(&["ping", "-c", "3", "-W", "60", "10.0.0.2"]).unwrap();
        assert_eq!(ran.code, 0, "{}", ran.text());
        test(&mut pair);
    });
}
