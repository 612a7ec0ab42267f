//! `eddy backup` and `eddy restore`: a copy of the data directory, tenants included, beside a daemon that runs or without one.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;

use super::failure::{Failure, answer, remark};
use super::{FileArgs, data_dir_flag};
use crate::config::{self, Sources};
use crate::daemon::TENANTS;
use crate::render::text::{counted, shell_word};
use crate::store::{self, Copied, StoreError};

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// Where the copy goes: a directory that is new or empty
    to: PathBuf,
    #[command(flatten)]
    file: FileArgs,
    /// The data directory that is copied
    #[arg(short, long, value_name = "DIR")]
    data_dir: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// A directory that `eddy backup` has made
    from: PathBuf,
    #[command(flatten)]
    file: FileArgs,
    /// The data directory that is made: new or empty
    #[arg(short, long, value_name = "DIR")]
    data_dir: Option<String>,
}

pub(super) fn backup(args: &BackupArgs) -> Result<(), Failure> {
    let data_dir = data_dir(&args.file, args.data_dir.as_ref())?;
    let missing = "`--data-dir` or the file of `--config` has to name the daemon's own directory";
    let damaged = "its daemon mends it at its next start, or with its next snapshot (`service.snapshot_interval`); make the copy then";
    let copied = copy(&data_dir, &args.to, missing, damaged)?;
    if copied.iter().all(|(_, copied)| copied.is_of_nothing()) {
        remark(format_args!(
            "warning: there was nothing in {} to be saved, so that this is a copy of nothing; {missing}",
            data_dir.display()
        ));
    }
    told("saved", &data_dir, &copied, &args.to)
}

pub(super) fn restore(args: &RestoreArgs) -> Result<(), Failure> {
    let data_dir = data_dir(&args.file, args.data_dir.as_ref())?;
    let missing = "name a directory that `eddy backup` has made";
    let damaged = format!(
        "a daemon that is started on the copy itself recovers the rest and says what is lost: \
         `eddy serve --data-dir {}`",
        shell_word(&args.from.to_string_lossy())
    );
    let copied = copy(&args.from, &data_dir, missing, &damaged)?;
    told("restored", &args.from, &copied, &data_dir)
}

fn data_dir(file: &FileArgs, data_dir: Option<&String>) -> Result<PathBuf, Failure> {
    let sources = Sources {
        file: file.config.clone(),
        flags: data_dir_flag(data_dir).into_iter().collect(),
    };
    Ok(config::load(&sources)?.settings.data_dir)
}

/// Copies the store of the default tenant, and those of all others, but for those that have nothing yet. Where there is no
/// store at all, `missing` says what to do, and where one has a gap, `damaged`.
fn copy(
    from: &Path,
    to: &Path,
    missing: &str,
    damaged: &str,
) -> Result<Vec<(String, Copied)>, Failure> {
    if is_within(to, from) {
        return Err(Failure::Other(format!(
            "`{}` is in `{}`, of which it is to be a copy; choose a directory outside of it",
            to.display(),
            from.display()
        )));
    }
    let mut names = vec![String::new()];
    let mut parts = vec![PathBuf::new()];
    for name in begun_tenants(&from.join(TENANTS))? {
        parts.push(Path::new(TENANTS).join(&name));
        names.push(name.to_string_lossy().into_owned());
    }
    let copied = store::copy(from, to, &parts);
    let copied = copied.map_err(|error| match &error {
        StoreError::Io { path, source, .. }
            if path == from && source.kind() == ErrorKind::NotFound =>
        {
            Failure::Other(format!("{error}; {missing}"))
        }
        StoreError::Io { path, source, .. }
            if path.starts_with(from) && source.kind() == ErrorKind::InvalidData =>
        {
            Failure::Other(format!("{error}; {damaged}"))
        }
        _ => Failure::Other(error.to_string()),
    })?;
    Ok(names.into_iter().zip(copied).collect())
}

/// The tenants that have a directory among these and something in it; says which have nothing yet.
fn begun_tenants(tenants: &Path) -> Result<Vec<OsString>, Failure> {
    let unread = |error| Failure::Other(format!("cannot read `{}`: {error}", tenants.display()));
    let found = match fs::read_dir(tenants) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        found => found.map_err(unread)?,
    };
    let mut begun = Vec::new();
    for tenant in found {
        let name = tenant.map_err(unread)?.file_name();
        let refused = |error: StoreError| Failure::Other(error.to_string());
        if store::is_unbegun(&tenants.join(&name)).map_err(refused)? {
            let name = name.to_string_lossy();
            remark(format_args!(
                "tenant {name} has nothing yet, and is left out"
            ));
        } else {
            begun.push(name);
        }
    }
    Ok(begun)
}

/// Whether a directory, which need not be there yet, lies in another or is it.
fn is_within(path: &Path, other: &Path) -> bool {
    let (Ok(path), Ok(other)) = (std::path::absolute(path), other.canonicalize()) else {
        return false;
    };
    let mut there = path.ancestors().filter_map(|dir| dir.canonicalize().ok());
    there.next().is_some_and(|dir| dir.starts_with(other))
}

/// Says what was copied, from where and to where; fails where that is less than the store had.
fn told(done: &str, from: &Path, copied: &[(String, Copied)], to: &Path) -> Result<(), Failure> {
    let (from, to) = (from.display(), to.display());
    let mut lacking = Vec::new();
    for (tenant, copied) in copied {
        let whose = match tenant.as_str() {
            "" => String::new(),
            tenant => format!(" of tenant {tenant}"),
        };
        let damaged = counted(copied.snapshots_damaged as u64, "damaged one");
        let snapshot = match (copied.snapshot_ms, copied.snapshots_damaged) {
            (None, 0) => "no snapshot".to_owned(),
            (None, _) => format!("no snapshot that can be read, beside {damaged},"),
            (Some(at), 0) => snapshot_of(at),
            (Some(at), _) => format!(
                "{}, since newer than it is only {damaged},",
                snapshot_of(at)
            ),
        };
        let records = counted(copied.records, "commit");
        answer(&format!(
            "{done} {from}{whose}: {snapshot} and {records} of the journal, in {to}\n"
        ))?;
        lacking.extend(
            copied
                .lacks
                .map(|lacks| format!("the copy{whose} is not whole; {lacks}")),
        );
    }
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Failure::Other(lacking.join("\n")))
}

fn snapshot_of(at_ms: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(at_ms);
    format!("the snapshot of {}", humantime::format_rfc3339_seconds(at))
}
