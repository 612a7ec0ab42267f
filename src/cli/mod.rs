//! The program: one command line, a file for each command.
//!
//! Answers go to standard output, everything else to standard error, so that `eddy runs --json | jq` works. `serve` and
//! `demo` hold a daemon; `tail`, `runs` and `run` ask one over HTTP; `check`, `validate` and `config` need none.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::config::profile::Name;
use crate::config::{Flag, Sources};

mod backup;
mod calibrate;
mod check;
mod client;
mod demo;
mod doctor;
mod eval;
mod explain;
mod failure;
mod guard;
mod guard_client;
mod hook;
mod mcp_proxy;
mod reading;
mod reload;
mod running;
mod serve;
mod settings;
mod tail;

use failure::{Failure, remark};

/// The page of `eddy --help`: clap's own cannot group commands.
const HELP: &str = "\
{about}

Usage: eddy [OPTIONS] [COMMAND]

Watch:
  serve     Receive telemetry and watch runs; what `eddy` alone does
  demo      See it work: a daemon, recorded agents, and the warnings they earn

Look (at a daemon that runs):
  tail      Follow warnings as they are raised, grow and resolve
  runs      List runs, newest first
  run       Show one run: its score, its warnings and what to do about them
  explain   Say why a warning was raised, and what would silence it
  doctor    Say whether telemetry that is sent from here comes in

Guard (asks a daemon before each tool call):
  guard     Ask from a script whether to make a call, or tell what it brought
  hook      Guard a coding agent: Claude Code, Codex or Gemini CLI
  mcp-proxy Guard the tools of an MCP server, whatever agent uses them

Check (without a daemon):
  check     Judge recorded telemetry, for a look or for CI
  eval      Measure a profile on runs that people have labelled
  calibrate Learn from good runs what is usual, as configuration
  validate  Say what is wrong with a configuration file
  config    Print the effective configuration, or the reference of every key

Keep (a data directory, beside a daemon that runs or without):
  backup    Copy the data directory as it stands
  restore   Make a data directory from such a copy

Options of `serve`:
{options}

Exit codes: 0 ok, 1 failure, 2 wrong usage, 3 a run scored too low or a call is
refused, 78 bad configuration

Examples:
  eddy                            start; it says where agents are to send
  eddy --config eddy.yaml         with exporters and thresholds of your own
  eddy tail                       follow warnings from another terminal
  eddy check t.jsonl --fail-below 80
                                  fail a build whose agent went in circles
";

/// Finds LLM agents that are stuck in loops, while they run.
#[derive(Debug, Parser)]
#[command(
    name = "eddy",
    version,
    help_template = HELP,
    args_conflicts_with_subcommands = true,
    disable_help_flag = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
    /// Print help
    #[arg(short, long, global = true, action = clap::ArgAction::HelpShort)]
    help: Option<bool>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Receive telemetry and watch runs; what `eddy` alone does
    #[command(after_help = "\
Without a file: OTLP/gRPC on 127.0.0.1:4317, OTLP/HTTP on 127.0.0.1:4318,
the API on 127.0.0.1:4319, warnings on the terminal.
`eddy config reference` shows every key that a file may have.
SIGTERM or Ctrl-C finishes what is held and leaves; a second one leaves at once.")]
    Serve(ServeArgs),
    /// See it work: a daemon, recorded agents, and the warnings they earn
    Demo(DemoArgs),
    /// Follow warnings as they are raised, grow and resolve
    #[command(after_help = "\
Examples:
  eddy tail                      from now on
  eddy tail --after 0            everything that is kept, then from now on
  eddy tail --json --after 1741  one alert a line, behind this cursor")]
    Tail(tail::TailArgs),
    /// List runs, newest first
    #[command(after_help = "\
Newest is what Eddy first heard of last: a run keeps its place while others come, whenever it was LAST SEEN.

Examples:
  eddy runs                        the newest 20
  eddy runs --status likely_stuck  those that need somebody")]
    Runs(reading::RunsArgs),
    /// Show one run: its score, its warnings and what to do about them
    Run(reading::RunArgs),
    /// Say why a warning was raised, and what would silence it
    #[command(after_help = "\
Examples:
  eddy explain 01954d997b470f56              a warning of a daemon's run
  eddy explain 01954d997b470f56 trace.jsonl  the same, of recorded telemetry")]
    Explain(explain::ExplainArgs),
    /// Say whether telemetry that is sent from here comes in
    #[command(after_help = "\
Sends one span as an agent started from this shell would: to where OTEL_EXPORTER_OTLP_ENDPOINT says, with the protocol, headers \
and certificate of the variables beside it, else to OpenTelemetry's default addresses. The run is named `eddy-doctor-…`. It goes \
past proxies (`http_proxy`), and says where an SDK would not.

Examples:
  eddy doctor
  eddy doctor --otlp-grpc 127.0.0.1:14317 --api 127.0.0.1:14319

Exit codes: 0 no check failed, 1 one did, 2 wrong usage.")]
    Doctor(doctor::DoctorArgs),
    /// Ask whether to make a call, or tell what it brought
    #[command(subcommand)]
    Guard(guard::GuardCommand),
    /// Judge recorded telemetry, for a look or for CI
    #[command(after_help = "\
What is read:
  *.logs.otlp.binpb  length-delimited ExportLogsServiceRequest messages
  *.binpb            length-delimited ExportTraceServiceRequest messages
  *.jsonl, *.json    OTLP/JSON, traces or logs: a request a line, or a list
  *.events.jsonl     Eddy's own event format (docs/events.md), one run a line
  -                  standard input: either kind of JSON
Any of them may be gzipped. Requests of metrics in JSON are passed over. Files given together are one stream: a run may be spread over them, in any order of time.

What `--json` prints has the runs in `runs`, and in `left_out` how many spans and records were `refused`, and how many files are cut \
off (`files_cut_off`).

Examples:
  eddy check trace.jsonl
  eddy check spans.otlp.binpb logs.logs.otlp.binpb --json
  eddy check trace.jsonl --fail-below 80   exit code 3 unless all are healthy
  grep conv-8812 trace.jsonl | eddy check -")]
    Check(check::CheckArgs),
    /// Measure a profile on runs that people have labelled
    #[command(after_help = "\
What is read: Eddy's own event format (docs/events.md), one run a line, gzipped or not; `label.looping` says what a run is.

Examples:
  eddy eval labelled.events.jsonl.gz
  eddy eval *.jsonl.gz --profile looplens --verdicts verdicts.jsonl")]
    Eval(eval::EvalArgs),
    /// Learn from good runs what is usual, as configuration
    #[command(after_help = "\
At least twenty good runs are needed; what comes out says how many false alarms it may raise.

Examples:
  eddy calibrate good/*.jsonl > usual.yaml
  eddy calibrate --from-store --false-alarms 0.02")]
    Calibrate(calibrate::CalibrateArgs),
    /// Copy the data directory as it stands
    #[command(after_help = "\
A daemon that works in it is not disturbed. Everything acknowledged before the command is in the copy. The answer names the \
directory that was copied. Where it has nothing yet the copy is made all the same (exit code 0), and a warning on standard error \
says so; where there is no data directory, or the copy is not whole, the exit code is 1.

Example:
  eddy backup /backup/eddy-monday --data-dir /var/lib/eddy")]
    Backup(backup::BackupArgs),
    /// Make a data directory from such a copy
    #[command(after_help = "\
Example:
  eddy restore /backup/eddy-monday --data-dir /var/lib/eddy-restored")]
    Restore(backup::RestoreArgs),
    /// Guard a coding agent: Claude Code, Codex or Gemini CLI
    #[command(after_help = "\
Without --install it is the hook itself: it reads an event from standard input, asks the daemon, and answers as the \
program expects. Where there is no daemon it says so on standard error alone, and the agent goes on.

Examples:
  eddy hook claude-code --install    check each call, from the next session on
  eddy hook claude-code --uninstall  no more

Exit codes: 0, and 1 for wrong usage too: these programs take 2 for a refusal.")]
    Hook(hook::HookArgs),
    /// Guard the tools of an MCP server, whatever agent uses them
    #[command(after_help = "\
Stands in front of a server that speaks MCP over standard input and output: name it in the agent's settings in place of \
the server, with the server's command behind it. Without a daemon it passes everything through.

Example:
  eddy mcp-proxy -- npx -y @modelcontextprotocol/server-filesystem .")]
    McpProxy(mcp_proxy::McpProxyArgs),
    /// Say what is wrong with a configuration file
    #[command(
        after_help = "Every mistake is named with its line, its key and the nearest right one. Exit code 78 if there is any."
    )]
    Validate(settings::ValidateArgs),
    /// Print the effective configuration, or the reference of every key
    #[command(subcommand)]
    Config(settings::ConfigCommand),
}

/// Where the configuration comes from.
#[derive(Clone, Debug, Default, Args)]
struct ConfigArgs {
    #[command(flatten)]
    file: FileArgs,
    /// What counts as a loop, whatever the file says
    #[arg(short, long, value_name = "NAME")]
    profile: Option<Name>,
}

/// The file of the configuration.
#[derive(Clone, Debug, Default, Args)]
struct FileArgs {
    /// Configuration file; without one, defaults apply
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "EDDY_CONFIG",
        hide_env_values = true
    )]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    /// What a daemon says is by its own profile. Its configuration file may be named by a variable of the environment, which others
    /// read.
    ///
    /// # Errors
    /// Where a profile is asked for.
    fn none_for_a_daemon(&self) -> Result<(), Failure> {
        const WHY: &str =
            "`--profile` is for files that are judged: the daemon has judged by its own";
        let refused = |_| Err(Failure::Usage(WHY.to_owned()));
        self.profile.map_or(Ok(()), refused)
    }

    fn sources(&self) -> Sources {
        let profile = self.profile.map(|name| Flag {
            name: "--profile",
            path: &["detectors", "profile"],
            value: name.name().to_owned(),
        });
        Sources {
            file: self.file.config.clone(),
            flags: profile.into_iter().collect(),
        }
    }
}

#[derive(Clone, Debug, Default, Args)]
struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Where state is kept
    #[arg(short, long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Where OTLP over gRPC is received [default: 127.0.0.1:4317]
    #[arg(long, value_name = "ADDR")]
    otlp_grpc: Option<String>,
    /// Where OTLP over HTTP is received [default: 127.0.0.1:4318]
    #[arg(long, value_name = "ADDR")]
    otlp_http: Option<String>,
    /// Where the API is served [default: 127.0.0.1:4319]
    #[arg(long, value_name = "ADDR")]
    api: Option<String>,
}

impl ServeArgs {
    fn sources(&self) -> Sources {
        let mut sources = self.config.sources();
        sources.flags.extend(data_dir_flag(self.data_dir.as_ref()));
        let mut set = |name, path, value: &Option<String>| {
            if let Some(value) = value.clone() {
                sources.flags.push(Flag { name, path, value });
            }
        };
        set(
            "--otlp-grpc",
            &["receivers", "otlp", "protocols", "grpc", "endpoint"],
            &self.otlp_grpc,
        );
        set(
            "--otlp-http",
            &["receivers", "otlp", "protocols", "http", "endpoint"],
            &self.otlp_http,
        );
        // Who names an address wants it listened to, whatever the file says.
        set(
            "--otlp-http",
            &["receivers", "otlp", "protocols", "http", "enabled"],
            &self.otlp_http.as_ref().map(|_| "true".to_owned()),
        );
        set("--api", &["service", "api", "endpoint"], &self.api);
        sources
    }
}

/// Has `--data-dir` count for more than the file.
fn data_dir_flag(data_dir: Option<&String>) -> Option<Flag> {
    data_dir.map(|dir| Flag {
        name: "--data-dir",
        path: &["service", "data_dir"],
        value: dir.clone(),
    })
}

#[derive(Clone, Debug, Args)]
struct DemoArgs {
    /// End after the replay, instead of serving on until it is stopped
    #[arg(long)]
    exit: bool,
}

/// Runs the program with the process's arguments.
#[must_use]
pub fn run() -> ExitCode {
    let cli = match parsed(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return misused(&error, std::env::args_os().nth(1).as_deref()),
    };
    match dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match &failure {
                Failure::ReaderGone => {}
                // Mistakes in a file begin with its name, in the form that editors jump to.
                Failure::Config(mistakes) => remark(mistakes),
                other => remark(format_args!("eddy: {other}")),
            }
            ExitCode::from(failure.code())
        }
    }
}

/// What a command line asks for.
fn parsed(line: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let matches = without_empty_variables(Cli::command()).try_get_matches_from(line);
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    cli.map_err(with_order)
}

/// A variable that is set to nothing is not set, as for `:-` in a shell.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |arg: &clap::Arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        value.is_some_and(|value| value.is_empty())
    };
    command
        .mut_args(|arg| {
            if is_empty(&arg) {
                arg.env(Resettable::Reset)
            } else {
                arg
            }
        })
        .mut_subcommands(without_empty_variables)
}

/// Says what is wrong with a command line, or shows the help that it asks for. The code of wrong usage is 2, but for a hook: the
/// programs that run one take 2 for a refusal of the call, and of what the user says.
fn misused(error: &clap::Error, command: Option<&OsStr>) -> ExitCode {
    // Nobody may read it any more.
    let _ = error.print();
    let is_hook = command.is_some_and(|command| command == "hook");
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ if is_hook => ExitCode::FAILURE,
        _ => ExitCode::from(2),
    }
}

/// Says of options that stand before a command where they belong: behind it, and behind the one in it that has options.
fn with_order(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(command)) = error.get(ContextKind::InvalidSubcommand)
        && error.kind() == ErrorKind::ArgumentConflict
    {
        let known = Cli::command();
        let within = known.find_subcommand(command).into_iter();
        let mut with_options = within
            .flat_map(clap::Command::get_subcommands)
            .filter(|inner| inner.get_arguments().next().is_some());
        let inner = match (with_options.next(), with_options.next()) {
            (None, _) => String::new(),
            (Some(inner), None) => format!(" {}", inner.get_name()),
            (Some(_), Some(_)) => " COMMAND".to_owned(),
        };
        let tip = format!("options stand behind the command: eddy {command}{inner} [OPTIONS]");
        let tip = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

fn dispatch(cli: Cli) -> Result<(), Failure> {
    match cli.command.unwrap_or(Command::Serve(cli.serve)) {
        Command::Serve(args) => serve::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Tail(args) => tail::run(&args),
        Command::Runs(args) => reading::runs(&args),
        Command::Run(args) => reading::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Guard(command) => guard::run(&command),
        Command::Check(args) => check::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Backup(args) => backup::backup(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Hook(args) => hook::run(&args),
        Command::McpProxy(args) => mcp_proxy::run(&args),
        Command::Validate(args) => settings::validate(&args),
        Command::Config(command) => settings::config(&command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Cli, clap::Error> {
        super::parsed(line.split_whitespace().map(OsString::from))
    }

    /// Given the definition of the command line, clap finds nothing wrong with it, and every command is on the help page.
    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
        for command in Cli::command().get_subcommands() {
            let line = format!("\n  {} ", command.get_name());
            assert!(HELP.contains(&line), "{line}");
        }
    }

    /// Given no command, options are those of `serve`.
    #[test]
    fn nothing_means_serve() {
        for line in [
            "eddy --api 127.0.0.1:1 -p looplens",
            "eddy serve --api 127.0.0.1:1 -p looplens",
        ] {
            let cli = parsed(line).unwrap();
            let args = match cli.command {
                Some(Command::Serve(args)) => args,
                None => cli.serve,
                other => panic!("{other:?}"),
            };
            let flags: Vec<_> = args.sources().flags.iter().map(|flag| flag.name).collect();
            assert_eq!(flags, ["--profile", "--api"]);
        }
    }

    /// Given a command with options of the connection, nothing but these is listed among them.
    #[test]
    fn options_of_the_connection_are_by_themselves() {
        let mut cli = Cli::command();
        for command in cli.get_subcommands_mut() {
            let help = command.render_help().to_string();
            let Some((_, options)) = help.split_once("\nOptions of the connection:\n") else {
                continue;
            };
            let options = options.split("\n\n").next().unwrap_or_default();
            let is_one = |line: &&str| line.trim_start().starts_with(['-', '<']);
            assert_eq!(options.lines().filter(is_one).count(), 5, "{help}");
        }
    }

    /// Given a terminal of 80 columns, no line of a list is broken on the pages of help.
    #[test]
    fn help_fits_a_terminal() {
        let mut cli = Cli::command();
        let mut pages = vec![HELP.to_owned()];
        for command in cli.get_subcommands_mut() {
            let own = std::iter::once(&*command).chain(command.get_subcommands());
            pages.extend(own.filter_map(|command| Some(command.get_after_help()?.to_string())));
        }
        for line in pages.iter().flat_map(|page| page.lines()) {
            // Prose is broken by clap.
            assert!(!line.starts_with(' ') || line.len() <= 80, "{line}");
        }
        assert!(HELP.lines().all(|line| line.len() <= 80), "{HELP}");
    }

    /// Given either name of the page of every key, it is that page.
    #[test]
    fn the_reference_has_two_names() {
        for line in ["eddy config reference", "eddy config schema"] {
            let command = parsed(line).unwrap().command;
            let Some(Command::Config(settings::ConfigCommand::Reference)) = command else {
                panic!("{line}: {command:?}");
            };
        }
    }

    /// Given wrong usage, it is refused with clap's code 2.
    #[test]
    fn wrong_usage_is_refused() {
        for line in [
            "eddy check",
            "eddy eval",
            "eddy run",
            "eddy guard",
            "eddy guard check --run r",
            "eddy guard check --run= --tool t",
            "eddy guard report --run r --tool t --status fine",
            "eddy frobnicate",
            "eddy --profile nosuch",
            "eddy check a --fail-below 101",
            "eddy check a --shuffle x",
            "eddy runs --limit 0",
            "eddy runs --status sick",
            // As with a variable that is not set: nothing would be left out.
            "eddy runs --agent=",
            "eddy tail --run=",
            "eddy config",
            "eddy hook",
            "eddy hook vim",
            "eddy hook codex --install --uninstall",
            "eddy --api 1 runs",
        ] {
            assert_eq!(parsed(line).unwrap_err().exit_code(), 2, "{line}");
        }
        for (line, expected) in [
            ("eddy --config eddy.yaml serve", "eddy serve [OPTIONS]"),
            (
                "eddy --config eddy.yaml config",
                "eddy config print [OPTIONS]",
            ),
            ("eddy --api 1 guard check", "eddy guard COMMAND [OPTIONS]"),
        ] {
            let said = parsed(line).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
        let negative = parsed("eddy check a --fail-below -1").unwrap_err();
        assert!(negative.to_string().contains("0..=100"), "{negative}");
    }
}
