//! Starting and switching governors: tunables come and go with their users, a refusal brings the old governor back.
use powerband_machine::Errno;

use super::config::{BootConfig, Governor, KernelRules};
use super::context::Context;
use super::hardware::Hardware;
use super::interactive;
use super::policy::Policy;
use super::state::{Dbs, Interactive, Schedutil, State};
use super::table::TableRelation;
use super::tunable::Tunable;
use super::tunables::Tunables;

/// The old kernels refuse governors that switch by themselves on drivers slower than this, ns.
const SLOW_NS: u32 = 10_000_000;

impl Governor {
    /// All, in the order of their declaration.
    pub const ALL: [Governor; 7] = {
        use Governor::{Conservative, Interactive, Ondemand, Performance, Powersave, Schedutil, Userspace};
        [Conservative, Ondemand, Userspace, Powersave, Performance, Schedutil, Interactive]
    };

    /// Its name in `scaling_governor`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Governor::Conservative => "conservative",
            Governor::Ondemand => "ondemand",
            Governor::Userspace => "userspace",
            Governor::Powersave => "powersave",
            Governor::Performance => "performance",
            Governor::Schedutil => "schedutil",
            Governor::Interactive => "interactive",
        }
    }

    /// The governor a text written to `scaling_governor` means: its first word, cut to 15 characters, in any case.
    ///
    /// # Errors
    /// EINVAL for an empty text or an unknown name.
    pub fn parse(text: &str) -> Result<Self, Errno> {
        let word = text.split_ascii_whitespace().next().ok_or(Errno::EINVAL)?;
        let word = word.get(..15.min(word.len())).ok_or(Errno::EINVAL)?;
        Governor::ALL.into_iter().find(|g| g.name().eq_ignore_ascii_case(word)).ok_or(Errno::EINVAL)
    }

    /// Whether it changes the clock by itself.
    pub(crate) fn is_dynamic(self) -> bool {
        use Governor::{Conservative, Interactive, Ondemand, Schedutil};
        matches!(self, Ondemand | Conservative | Schedutil | Interactive)
    }

    /// The governor that really starts when this one is asked for.
    fn admitted(self, policy: &Policy, config: &BootConfig) -> Result<Self, Errno> {
        let refused = match config.rules {
            KernelRules::V6_1 => policy.config.no_dynamic_switching,
            _ => policy.config.transition_latency_ns > SLOW_NS,
        };
        if !refused || !self.is_dynamic() {
            return Ok(self);
        }
        let substitute =
            config.rules != KernelRules::V2_6_18 && config.available_governors.contains(&Governor::Performance);
        if substitute { Ok(Governor::Performance) } else { Err(Errno::EINVAL) }
    }
}

/// The sets of tunables that all policies share, one for each governor in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    sets: [Option<Tunables>; Governor::ALL.len()],
}

impl Shared {
    pub(crate) fn of(&self, governor: Governor) -> Option<&Tunables> {
        self.sets[governor as usize].as_ref()
    }

    pub(crate) fn of_mut(&mut self, governor: Governor) -> Option<&mut Tunables> {
        self.sets[governor as usize].as_mut()
    }

    /// The set that a policy's present governor goes by.
    pub(crate) fn in_use<'a>(&'a self, policy: &'a Policy) -> Option<&'a Tunables> {
        policy.tunables.as_ref().or_else(|| self.of(policy.governor?))
    }
}

impl Policy {
    /// The clock follows limits it lies outside of.
    fn apply_limits(&mut self, cx: &mut Context<'_>) {
        if self.max < self.clock.cur_khz {
            self.aim(self.max, TableRelation::AtMost, true, cx);
        } else if self.min > self.clock.cur_khz {
            self.aim(self.min, TableRelation::AtLeast, true, cx);
        }
    }

    /// Tells the governor that the limits (may) have changed.
    pub(crate) fn governor_limits(&mut self, cx: &mut Context<'_>) {
        match (self.governor, self.state) {
            (_, State::Hardware) => self.hardware_limits(cx),
            (Some(Governor::Performance), _) => self.aim(self.max, TableRelation::AtMost, false, cx),
            (Some(Governor::Powersave), _) => self.aim(self.min, TableRelation::AtLeast, false, cx),
            (_, State::Userspace { asked_khz }) => {
                if self.max < asked_khz {
                    self.aim(self.max, TableRelation::AtMost, false, cx);
                } else {
                    self.aim(self.min.max(asked_khz), TableRelation::AtLeast, false, cx);
                }
            }
            (_, State::Dbs(_)) => {
                self.apply_limits(cx);
                let cur = self.clock.cur_khz;
                if let State::Dbs(dbs) = &mut self.state {
                    dbs.limits_changed(cur);
                }
            }
            (_, State::Schedutil(_)) => {
                if !self.config.fast_switch {
                    self.apply_limits(cx);
                }
                if let State::Schedutil(schedutil) = &mut self.state {
                    schedutil.limits_changed = true;
                }
            }
            (_, State::Interactive(_)) => {
                self.apply_limits(cx);
                interactive::limits_changed(self, cx);
            }
            (_, State::Fixed) => {}
        }
    }

    /// Starts a governor on this policy; its tunables exist already.
    pub(crate) fn start(&mut self, governor: Governor, set: &Tunables, cx: &mut Context<'_>) {
        self.governor = Some(governor);
        if self.hardware.is_some_and(Hardware::is_active) {
            return self.start_hardware(cx);
        }
        self.state = match governor {
            Governor::Performance | Governor::Powersave => State::Fixed,
            Governor::Userspace => State::Userspace { asked_khz: self.clock.cur_khz },
            Governor::Ondemand | Governor::Conservative => State::Dbs(Dbs::start(self, governor, set, cx)),
            Governor::Schedutil => State::Schedutil(Schedutil::start(self, cx)),
            Governor::Interactive => State::Interactive(Interactive::start(self, &set.interactive, cx)),
        };
        self.governor_limits(cx);
    }
}

/// How many policies run a governor.
pub(crate) fn users(policies: &[Policy], governor: Governor) -> usize {
    policies.iter().filter(|p| p.governor == Some(governor)).count()
}

/// One policy of all, and the tunables that they share.
pub(crate) struct Governed<'a> {
    pub(crate) policies: &'a mut [Policy],
    pub(crate) index: usize,
    pub(crate) shared: &'a mut Shared,
}

impl Governed<'_> {
    fn policy(&mut self) -> &mut Policy {
        &mut self.policies[self.index]
    }

    /// Stops its governor; tunables go with their last user (the old kernels keep them for the next).
    pub(crate) fn stop(&mut self, config: &BootConfig) {
        let Some(governor) = self.policy().governor else { return };
        self.policy().stop();
        self.policy().tunables = None;
        if config.rules == KernelRules::V6_1 && users(self.policies, governor) == 0 {
            self.shared.sets[governor as usize] = None;
        }
    }

    /// Starts a governor where there is none.
    pub(crate) fn start(&mut self, governor: Governor, cx: &mut Context<'_>) -> Result<(), Errno> {
        let governor = governor.admitted(self.policy(), cx.config)?;
        let pace = self.policy().config.pace();
        let fresh = || Tunables::new(governor, cx.config, pace);
        let first_user = users(self.policies, governor) == 0;
        let policy = &mut self.policies[self.index];
        let set = if Tunable::of(governor, cx.config.rules).is_empty() {
            fresh()
        } else if cx.config.rules == KernelRules::V6_1 && cx.config.per_policy_governors {
            *policy.tunables.insert(fresh())
        } else {
            let set = self.shared.sets[governor as usize].get_or_insert_with(fresh);
            if first_user {
                set.start_rate(governor, cx.config, pace);
            }
            if set.interactive.hispeed_khz == 0 {
                set.interactive.hispeed_khz = policy.max;
            }
            *set
        };
        policy.start(governor, &set, cx);
        Ok(())
    }

    /// Changes its governor in the kernel's order: limits, stop, start, limits. The old kernels keep the limits in effect, the
    /// newer ones work them out again from what is asked.
    pub(crate) fn switch(&mut self, governor: Governor, cx: &mut Context<'_>) -> Result<(), Errno> {
        let policy = self.policy();
        if cx.config.rules == KernelRules::V6_1 {
            policy.refresh_limits(cx.config.rules);
        }
        if policy.governor == Some(governor) {
            policy.governor_limits(cx);
            return Ok(());
        }
        let old = policy.governor;
        self.stop(cx.config);
        let result = self.start(governor, cx);
        if let (Err(_), Some(old)) = (result, old) {
            self.start(old, cx)?;
        }
        result
    }
}

/// Starts the governor of a policy again where it stood, after CPUs came or went. Tunables stay.
pub(crate) fn restart(policy: &mut Policy, shared: &Shared, cx: &mut Context<'_>) {
    let Some(governor) = policy.governor else { return };
    let pace = policy.config.pace();
    let set = shared.in_use(policy).copied().unwrap_or_else(|| Tunables::new(governor, cx.config, pace));
    policy.start(governor, &set, cx);
}
