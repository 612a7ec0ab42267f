//! `eddy validate` and `eddy config`: the configuration without a daemon.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ConfigArgs;
use super::failure::{Failure, answer};
use crate::config::{self, LogFormat, LogLevel, Logs, REFERENCE, Sources};
use crate::telemetry;

#[derive(Clone, Debug, Args)]
pub(super) struct ValidateArgs {
    /// The file
    #[arg(value_name = "FILE", env = "EDDY_CONFIG", hide_env_values = true)]
    file: PathBuf,
}

#[derive(Clone, Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print what a daemon would work with: defaults, file and profile together, secrets hidden
    Print(ConfigArgs),
    /// Print every key with its default and what it means
    Reference,
}

pub(super) fn validate(args: &ValidateArgs) -> Result<(), Failure> {
    // What is no mistake, and still to be known: certificates that end, keys that everybody may read.
    let logs = Logs {
        level: LogLevel::Warn,
        format: LogFormat::Text,
    };
    let _ = telemetry::start(logs, None);
    let sources = Sources {
        file: Some(args.file.clone()),
        flags: Vec::new(),
    };
    config::load(&sources)?;
    answer(&format!("{}: no mistakes\n", args.file.display()))
}

pub(super) fn config(command: &ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Print(args) => answer(&config::load(&args.sources())?.to_yaml()),
        ConfigCommand::Reference => answer(REFERENCE),
    }
}
