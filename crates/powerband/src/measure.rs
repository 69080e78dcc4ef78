//! Measuring: what the verbs that run trials share, from a plan and options to a printed verdict and an exit code.
use std::collections::BTreeSet;

use powerband_experiment::Plan;
use powerband_record::{CloseReason, CommandMeter, Finding, IntoOrdered as _, Standing, Verdict};
use powerband_rig::{MAX_WRITTEN_BYTES, read_text};
use powerband_session::{EndedExperiment, Experiment, Options, SessionError};

use crate::cli::{FailOn, Measuring, Setup, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::progress::Bar;
use crate::{commands, dry_run, machines, output, rig, shown, verb};

/// Where an experiment was written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// On the command line.
    Typed,
    /// In a file, which may be somebody else's.
    File,
}

/// Runs an experiment and prints what it found.
pub(crate) fn measure(shared: &Shared, plan: Plan, measuring: &Measuring, words: Words) -> Answer {
    let mut plan = overridden(plan, shared, measuring);
    if !rig::is_list(shared) && shared.machine.is_none() {
        plan.machines = machines::expanded(&plan.machines)?;
    }
    for text in measuring.setup.meters.iter().filter(|text| text.contains('=')) {
        let (name, meter) = CommandMeter::parse(text).map_err(usage)?;
        plan.meters.insert(name, meter);
    }
    let options = options(shared, &measuring.setup);
    let experiment = powerband_session::prepare(plan, &options, &mut output::note)?;
    if let (Experiment::OnRig(on_rig), false) = (&experiment, options.dry_run) {
        if words == Words::File || shared.declared.is_some() {
            commands::note(on_rig.commands());
        }
        let notes: BTreeSet<&String> = on_rig.steps().iter().flat_map(|steps| &steps.notes).into_set();
        if !measuring.setup.show_metrics {
            notes.into_iter().for_each(output::note);
        }
    }
    if measuring.setup.show_metrics {
        return shown::run(shared, experiment);
    }
    run(shared, experiment, measuring, &options)
}

/// What is said of an experiment outside its plan.
pub(crate) fn options(shared: &Shared, setup: &Setup) -> Options {
    let (dry_run, show_metrics, as_root) = (setup.dry_run, setup.show_metrics, setup.as_root);
    Options { dry_run, show_metrics, as_root, ..rig::options(shared) }
}

/// Runs an experiment that is ready, or prints what it would do.
pub(crate) fn run(shared: &Shared, experiment: Experiment, measuring: &Measuring, options: &Options) -> Answer {
    // Before the work rather than after it.
    verb::export::are_free(&measuring.exports)?;
    let mut bar = Bar::new(measuring.setup.quiet || shared.json);
    let ended = match experiment {
        Experiment::OnRig(mut on_rig) if options.dry_run => return dry_run::print(shared, on_rig.planned()),
        Experiment::OnTable(on_table) if options.dry_run => return dry_run::print_table(shared, &on_table),
        Experiment::OnRig(on_rig) => on_rig.run(&options.command_line, &mut bar)?,
        Experiment::OnTable(on_table) => on_table.run(&options.command_line, &mut bar)?,
    };
    conclude(shared, ended, measuring)
}

/// Prints what an experiment came to and answers its code.
pub(crate) fn conclude(shared: &Shared, ended: EndedExperiment, measuring: &Measuring) -> Answer {
    let settled = ended.settle(&mut output::note).map_err(|mut error| {
        if let SessionError::Unrestored { also, .. } = &mut error
            && let Some(also) = also.take()
        {
            output::error(&Failure::from(*also).sentence);
        }
        error
    })?;
    let (store, id) = (&settled.store, settled.id);
    verb::show::print(shared, store, id)?;
    verb::export::after(shared, store, id, &measuring.exports)?;
    let code = match settled.unrestored {
        Some(unrestored) => return Err(unrestored.into()),
        None => verdict_code(&settled.finding, &measuring.fail_on, id)?,
    };
    settled.in_place?;
    Ok(code)
}

/// What is said on the command line wins over the plan.
pub(crate) fn overridden(mut plan: Plan, shared: &Shared, measuring: &Measuring) -> Plan {
    let put = |slot: &mut Option<String>, value: &Option<String>| {
        if value.is_some() {
            slot.clone_from(value);
        }
    };
    put(&mut plan.margin, &measuring.margin);
    put(&mut plan.alpha, &measuring.alpha);
    put(&mut plan.family, &measuring.judged.family);
    put(&mut plan.judge, &measuring.judged.judge);
    put(&mut plan.budget, &measuring.setup.budget);
    put(&mut plan.settle, &measuring.setup.settle);
    put(&mut plan.reference, &measuring.reference);
    let around = &measuring.setup.around;
    put(&mut plan.prepare, &around.prepare);
    put(&mut plan.conclude, &around.conclude);
    put(&mut plan.setup, &around.setup);
    put(&mut plan.cleanup, &around.cleanup);
    put(&mut plan.cool, &measuring.setup.cool);
    put(&mut plan.knee, &measuring.knee);
    put(&mut plan.cpus, &shared.cpus.as_ref().map(ToString::to_string));
    plan.blocks = measuring.blocks.or(plan.blocks);
    plan.runs = measuring.runs.runs.or(plan.runs);
    plan.min_runs = measuring.runs.min_runs.or(plan.min_runs);
    plan.max_runs = measuring.runs.max_runs.or(plan.max_runs);
    plan.warmup = measuring.setup.warmup.or(plan.warmup);
    plan.seed = shared.seed.or(plan.seed);
    plan.robust |= measuring.judged.robust;
    plan.accept_unrestorable |= measuring.setup.accept_unrestorable;
    if !measuring.requirements.is_empty() {
        plan.require.clone_from(&measuring.requirements);
    }
    if !measuring.setup.meters.is_empty() {
        // One with an equals sign declares a program next to naming it.
        let name = |text: &String| text.split_once('=').map_or(text.as_str(), |(name, _)| name).to_owned();
        plan.meter = measuring.setup.meters.iter().map(name).collect();
    }
    if !measuring.setup.meter_lags.is_empty() {
        plan.meter_lag.clone_from(&measuring.setup.meter_lags);
    }
    if !measuring.setup.record.is_empty() {
        plan.record.clone_from(&measuring.setup.record);
    }
    if !measuring.setup.metrics.is_empty() {
        plan.metrics.clone_from(&measuring.setup.metrics);
    }
    plan
}

/// The exit code a finding asks for.
fn verdict_code(finding: &Finding, fail_on: &[FailOn], id: i64) -> Answer {
    match &finding.reason {
        CloseReason::Stopped => return Ok(Exit::Stopped as u8),
        CloseReason::LoadFailed { why } => return Err(Failure::new(Exit::LoadFailed, why)),
        CloseReason::Failed { why } => return Err(Failure::new(Exit::CannotGoOn, why)),
        CloseReason::Decided | CloseReason::Blocks | CloseReason::Budget => {}
    }
    let happened = |fail: &FailOn| {
        let verdict = match fail {
            FailOn::Better => Verdict::Better,
            FailOn::Worse => Verdict::Worse,
            FailOn::Same => Verdict::Same,
            FailOn::Undecided => Verdict::Undecided,
            FailOn::Broken => return finding.requirements.iter().any(|it| it.found.standing == Standing::Broken),
        };
        let open = || finding.requirements.iter().any(|it| it.found.standing == Standing::Open);
        finding.verdicts.iter().any(|v| v.verdict == verdict)
            || (*fail == FailOn::Undecided && (finding.verdicts.is_empty() || open()))
    };
    if let Some(fail) = fail_on.iter().find(|fail| happened(fail)) {
        let named = format!("{fail:?}").to_lowercase();
        return Err(Failure::new(
            Exit::Failed,
            format!("--fail-on {named} happened; `powerband show {id}` says where"),
        ));
    }
    Ok(Exit::Fine as u8)
}

/// Reads a plan file.
pub(crate) fn read_plan(path: &std::path::Path) -> Result<Plan, Failure> {
    let text = read_text(path, "the plan", MAX_WRITTEN_BYTES)?;
    Plan::parse(&path.display().to_string(), &text).map_err(usage)
}
