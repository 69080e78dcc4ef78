//! `service`: set knobs for users without root, as a policy says, for as long as they are connected.
use std::path::PathBuf;

use powerband_host::SERVICE_SOCKET;
use powerband_record::Side;
use powerband_rig::RigError;
use powerband_rig::access::{POLICY_FILE, Serving, allowed_here, policy_of, serve_access, serve_client, user_of};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{self, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output::{self, Document};
use crate::rig::{self, Purpose};

/// What a policy lets users set.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Allowed {
    /// The user that was asked for, as typed; absent for everybody, and for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// A line for each knob: its name or pattern, the values, and on which CPUs.
    allowed: Vec<String>,
}

impl Document for Allowed {
    const KIND: &'static str = "service";
}

/// One line of the log, for the journal.
fn log(line: &str) {
    // A log that cannot be written stops nobody from being restored.
    crate::streams::complain(&format!("access: {line}\n"));
}

pub(crate) fn run(shared: &Shared, args: &cli::Service) -> Answer {
    let policy = policy_file(args);
    if let Some(user) = &args.check {
        return check(shared, args, user);
    }
    if args.client {
        serve_client(&policy, &mut output::note, &mut log)?;
        return Ok(Exit::Fine as u8);
    }
    let arguments = ["service", "--client", "--policy"].map(str::to_owned).into_iter();
    let serving = Serving {
        socket: args.socket.clone().unwrap_or_else(|| PathBuf::from(SERVICE_SOCKET)),
        client_arguments: arguments.chain([policy.display().to_string()]).collect(),
        policy,
    };
    serve_access(&serving, &mut output::note, &mut log)?;
    Ok(Exit::Fine as u8)
}

/// The policy as a whole path, since every folder above it is looked at.
fn policy_file(args: &cli::Service) -> PathBuf {
    let named = args.policy.clone().unwrap_or_else(|| PathBuf::from(POLICY_FILE));
    std::path::absolute(&named).unwrap_or(named)
}

/// What the policy lets a user set: by the file where it can be read, and by the service's word for a caller without root.
fn check(shared: &Shared, args: &cli::Service, user: &str) -> Answer {
    let named = (!user.is_empty()).then(|| user.to_owned());
    let asks = named.is_none() && args.policy.is_none();
    let allowed = match allowed_here().filter(|_| asks) {
        Some(answered) => answered.map_err(RigError::from)?,
        None => {
            let policy = policy_file(args);
            let policy = policy_of(&policy).map_err(RigError::from)?;
            policy.warnings.iter().for_each(|warning| output::note(warning.clone()));
            let mut rig = rig::open(shared, Purpose::Look)?;
            let refused = rig.world().machine(Side::Near).map(|machine| policy.impossible(machine)).unwrap_or_default();
            if let Some(why) = refused.first() {
                let sentence = format!("the policy allows a value that can never be set here: {why}");
                return Err(Failure::new(Exit::Failed, sentence));
            }
            match &named {
                None => policy.lines(&powerband_host::user_name),
                Some(user) => {
                    let found = user_of(user).ok_or_else(|| usage(format!("this system has no user '{user}'")))?;
                    policy.granted(found.0, &found.1).lines()
                }
            }
        }
    };
    if shared.json {
        return output::print_document(&Allowed { user: named, allowed });
    }
    if allowed.is_empty() {
        return Err(Failure::new(Exit::Denied, "the access policy does not let this user set anything"));
    }
    output::print(&allowed.join("\n"));
    Ok(Exit::Fine as u8)
}
