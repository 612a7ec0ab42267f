//! `eddy validate` and `eddy config`: the configuration without a daemon.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::failure::{Failure, answer};
use super::{ConfigArgs, FileArgs};
use crate::config::profile::Name;
use crate::config::{self, REFERENCE};
use crate::daemon::warn_of_unseen_tenants;
use crate::telemetry::{self, LogLevel, Logs};

#[derive(Clone, Debug, Args)]
pub(super) struct ValidateArgs {
    /// The file
    #[arg(value_name = "FILE", env = "EDDY_CONFIG", hide_env_values = true)]
    file: PathBuf,
    /// The profile to which it is to belong, whatever the file says
    #[arg(short, long, value_name = "NAME")]
    profile: Option<Name>,
}

#[derive(Clone, Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print what a daemon would work with: defaults, file and profile together, secrets hidden
    Print(ConfigArgs),
    /// Print every key with its default and what it means
    #[command(visible_alias = "schema")]
    Reference,
}

pub(super) fn validate(args: &ValidateArgs) -> Result<(), Failure> {
    // What is no mistake, and still to be known: certificates that end, tenants that nobody can ask for.
    let logs = Logs {
        level: LogLevel::Warn,
        ..Logs::default()
    };
    let _ = telemetry::start(logs, None);
    let with = ConfigArgs {
        file: FileArgs {
            config: Some(args.file.clone()),
        },
        profile: args.profile,
    };
    let loaded = config::load(&with.sources())?;
    warn_of_unseen_tenants(&loaded.settings);
    answer(&format!("{}: no mistakes\n", args.file.display()))
}

pub(super) fn config(command: &ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Print(args) => answer(&config::load(&args.sources())?.to_yaml()),
        ConfigCommand::Reference => answer(REFERENCE),
    }
}
