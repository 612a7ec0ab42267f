//! `eddy hook NAME --install` and `--uninstall`: our command in the settings of a program.
//!
//! The settings are the user's. What is not ours stays as it is, down to its blanks; what is about to change is shown; the
//! file as it was before our command came into it, or before the first change where we do not know of that, stays beside it under
//! the name `*.before-eddy`, whatever is changed while the command is in it; a file that holds nothing but our command has no such
//! copy, and goes with the command; one that we cannot read is left alone.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::programs::Program;
use super::settings_file::{Members, list_json, value_json};
use crate::cli::client::{ApiArgs, Client, absolute};
use crate::cli::failure::{Failure, answer};
use crate::render::text::shell_word;

/// Enters our command for each event where it is not entered yet.
pub(super) fn install(program: Program, path: &Path, api: &ApiArgs) -> Result<(), Failure> {
    // What cannot work is not entered.
    Client::new(api)?;
    let command = command(program, api)?;
    let entry = json!({"hooks": [
        {"type": "command", "command": command, "timeout": program.timeout()}
    ]});
    let mut file = SettingsFile::open(program, path)?;
    file.was_ours_alone = without_ours(program, path)?.0.is_bare()?;
    for (event, _) in program.events() {
        let mut entries = file.entries(event)?;
        file.take_ours_out(&mut entries)?;
        let text = value_json(&entry, 3);
        entries.push(RawValue::from_string(text).map_err(|error| file.unreadable(&error))?);
        file.set_entries(event, &entries)?;
    }
    let is_there = file.is_as_it_was()?;
    let backup = file.save()?;
    let events: Vec<&str> = program.events().iter().map(|(event, _)| *event).collect();
    let settings = shell_word(&absolute(path)?);
    let done = if is_there {
        "Already in"
    } else {
        "Entered into"
    };
    answer(&format!(
        "{done} {} for {}:\n\n  {}\n\n{}{}\nTo take it out again: eddy hook {} --uninstall --settings {settings}\n",
        path.display(),
        events.join(", "),
        value_json(&entry, 1),
        kept(backup.as_deref()),
        program.remains(),
        program.name()
    ))
}

/// Takes our command out.
pub(super) fn uninstall(program: Program, path: &Path) -> Result<(), Failure> {
    let (mut file, from) = without_ours(program, path)?;
    if from.is_empty() {
        return answer(&format!(
            "{} does not have the command; nothing is changed.\n",
            path.display()
        ));
    }
    let rest = if file.is_ours_alone()? {
        file.remove()?;
        "Nothing else was in it, so the file is gone.\n".to_owned()
    } else {
        kept(file.save()?.as_deref())
    };
    answer(&format!(
        "Taken out of {}: {}\n{rest}",
        path.display(),
        from.join(", ")
    ))
}

/// The settings without our command, and the events for which it was in them.
fn without_ours(
    program: Program,
    path: &Path,
) -> Result<(SettingsFile, Vec<&'static str>), Failure> {
    let mut file = SettingsFile::open(program, path)?;
    let mut from = Vec::new();
    for (event, _) in program.events() {
        let mut entries = file.entries(event)?;
        if file.take_ours_out(&mut entries)? {
            file.set_entries(event, &entries)?;
            from.push(*event);
        }
    }
    Ok((file, from))
}

/// Where the file is kept as it was.
fn kept(backup: Option<&Path>) -> String {
    backup.map_or_else(String::new, |backup| {
        format!("The file as it was before: {}\n", backup.display())
    })
}

/// What the program is to run: this very program, since the one on the path may be another.
fn command(program: Program, api: &ApiArgs) -> Result<String, Failure> {
    let eddy = std::env::current_exe()
        .map_err(|error| Failure::Other(format!("finding where this program lies: {error}")))?;
    let eddy = shell_word(&eddy.to_string_lossy());
    Ok(format!("{eddy} hook {}{}", program.name(), api.flags()?))
}

/// The members of an entry that has our hook, and its other hooks.
fn beside_ours(program: Program, entry: &RawValue) -> Option<(Members, Vec<Box<RawValue>>)> {
    let entry: Members = serde_json::from_str(entry.get()).ok()?;
    let mut hooks: Vec<Box<RawValue>> = entry.get("hooks").ok()??;
    let before = hooks.len();
    hooks.retain(|hook| !is_ours(program, hook));
    (hooks.len() < before).then_some((entry, hooks))
}

/// What this program is called where it lies, which may be behind a symbolic link: `eddy-x86_64-linux`, say.
fn own_name() -> Option<String> {
    let path = std::env::current_exe().ok()?;
    Some(path.file_name()?.to_str()?.to_owned())
}

/// Whether a command is our hook and nothing besides, wherever the program lay when it was entered. One that somebody has built
/// around it (`timeout 2 eddy hook …`, `eddy hook … | tee log`) is theirs.
fn is_ours(program: Program, hook: &RawValue) -> bool {
    let hook: Value = serde_json::from_str(hook.get()).unwrap_or_default();
    let command = hook["command"].as_str().unwrap_or_default();
    let words = format!(" hook {}", program.name());
    let Some((path, flags)) = command.split_once(&words) else {
        return false;
    };
    let is_one_word = ["'", "\"", "$'"]
        .iter()
        .any(|quote| path.starts_with(quote))
        || !path.contains(' ');
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.trim_matches(['\'', '"']);
    // What stands between quotes says nothing to a shell.
    let mut bare = flags.split('\'').step_by(2);
    is_one_word
        && (["eddy", "eddy.exe"].contains(&name) || own_name().as_deref() == Some(name))
        && (flags.is_empty() || flags.starts_with(' '))
        && !bare.any(|text| text.contains([';', '&', '|', '<', '>', '\n']))
}

/// The settings of a program, being changed.
struct SettingsFile {
    program: Program,
    /// Where it lies, behind symbolic links.
    path: PathBuf,
    /// What it says; none where there is no file yet.
    before: Option<String>,
    /// Whether our command was in it.
    had_ours: bool,
    /// Whether nothing else was: we have made it, and there is nothing to keep.
    was_ours_alone: bool,
    root: Members,
    hooks: Members,
}

impl SettingsFile {
    fn open(program: Program, path: &Path) -> Result<Self, Failure> {
        let path = behind_links(path);
        let before = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(Failure::Other(format!(
                    "reading {}: {error}",
                    path.display()
                )));
            }
        };
        let mut file = Self {
            program,
            path,
            before,
            had_ours: false,
            was_ours_alone: false,
            root: Members::default(),
            hooks: Members::default(),
        };
        let text = file.before.as_deref().map_or("", str::trim);
        if !text.is_empty() {
            file.root = serde_json::from_str(text).map_err(|error| file.unreadable(&error))?;
        }
        let hooks = file
            .root
            .get("hooks")
            .map_err(|error| file.unreadable(&error))?;
        file.hooks = hooks.unwrap_or_default();
        Ok(file)
    }

    fn entries(&self, event: &str) -> Result<Vec<Box<RawValue>>, Failure> {
        let entries = self
            .hooks
            .get(event)
            .map_err(|error| self.unreadable(&error))?;
        Ok(entries.unwrap_or_default())
    }

    /// Takes our command out of entries, of which those go that have no other, and says whether it was there.
    fn take_ours_out(&mut self, entries: &mut Vec<Box<RawValue>>) -> Result<bool, Failure> {
        let mut kept = Vec::with_capacity(entries.len());
        let mut had_ours = false;
        for entry in entries.drain(..) {
            let Some((mut rest, others)) = beside_ours(self.program, &entry) else {
                kept.push(entry);
                continue;
            };
            had_ours = true;
            if !others.is_empty() {
                let set = rest.set("hooks", list_json(&others, 4));
                let entry = set.and_then(|()| RawValue::from_string(rest.json(3)));
                kept.push(entry.map_err(|error| self.unreadable(&error))?);
            }
        }
        *entries = kept;
        self.had_ours |= had_ours;
        Ok(had_ours)
    }

    fn set_entries(&mut self, event: &str, entries: &[Box<RawValue>]) -> Result<(), Failure> {
        if entries.is_empty() {
            self.hooks.remove(event);
            return Ok(());
        }
        let set = self.hooks.set(event, list_json(entries, 2));
        set.map_err(|error| self.unreadable(&error))
    }

    /// What is to be written.
    fn text(&mut self) -> Result<String, Failure> {
        if self.hooks.is_empty() {
            self.root.remove("hooks");
        } else {
            let set = self.root.set("hooks", self.hooks.json(1));
            set.map_err(|error| self.unreadable(&error))?;
        }
        Ok(self.root.json(0) + "\n")
    }

    /// Whether nothing has changed.
    fn is_as_it_was(&mut self) -> Result<bool, Failure> {
        let text = self.text()?;
        Ok(self.before == Some(text))
    }

    /// Where the file is kept as it was.
    fn backup(&self) -> PathBuf {
        beside(&self.path, "before-eddy")
    }

    /// Whether nothing is left in it.
    fn is_bare(&mut self) -> Result<bool, Failure> {
        self.text()?;
        Ok(self.root.is_empty())
    }

    /// Whether nothing is left of the file without our command, and nothing is known of it from before that.
    fn is_ours_alone(&mut self) -> Result<bool, Failure> {
        Ok(self.is_bare()? && !self.backup().exists())
    }

    fn remove(&self) -> Result<(), Failure> {
        fs::remove_file(&self.path)
            .map_err(|error| Failure::Other(format!("removing {}: {error}", self.path.display())))
    }

    /// Writes the settings in place of what was there, all or nothing, and says where they are kept as they were before
    /// that; where nothing changes, nothing is written.
    fn save(&mut self) -> Result<Option<PathBuf>, Failure> {
        if self.is_as_it_was()? {
            return Ok(None);
        }
        let text = self.text()?;
        let (backup, new) = (self.backup(), beside(&self.path, "new-eddy"));
        let is_known = self.had_ours && (self.was_ours_alone || backup.exists());
        let backs_up = self.before.is_some() && !is_known;
        let had_backup = backup.exists();
        let written = || -> io::Result<()> {
            if let Some(folder) = self.path.parent() {
                fs::create_dir_all(folder)?;
            }
            if backs_up {
                fs::copy(&self.path, &backup)?;
                keep_owner(&self.path, &backup)?;
            }
            let mut file = fs::File::create(&new)?;
            if let Ok(known) = fs::metadata(&self.path) {
                file.set_permissions(known.permissions())?;
                keep_owner(&self.path, &new)?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        };
        written().map_err(|error| {
            // Nothing unfinished stays.
            let _ = fs::remove_file(&new);
            if backs_up && !had_backup {
                let _ = fs::remove_file(&backup);
            }
            Failure::Other(format!("changing {}: {error}", self.path.display()))
        })?;
        let is_kept = self.before.is_some() && backup.exists();
        Ok(is_kept.then_some(backup))
    }

    fn unreadable(&self, error: &serde_json::Error) -> Failure {
        let advice = if error.is_data() {
            "mend that first"
        } else {
            "take out what is not JSON, such as comments"
        };
        Failure::Other(format!(
            "{} is left as it is, because it cannot be read as the settings of {}: {error}; {advice}",
            self.path.display(),
            self.program.title()
        ))
    }
}

/// The file to which symbolic links lead, though it is not there yet.
fn behind_links(path: &Path) -> PathBuf {
    let target = || {
        let folder = path.parent().unwrap_or(Path::new(""));
        fs::read_link(path).map(|target| folder.join(target))
    };
    let found = fs::canonicalize(path).or_else(|_| target());
    found.unwrap_or_else(|_| path.to_owned())
}

/// Gives a file the owner of another one, as when root enters a hook into a user's settings.
#[cfg(unix)]
fn keep_owner(of: &Path, file: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, chown};
    let [known, own] = [fs::metadata(of)?, fs::metadata(file)?];
    if (known.uid(), known.gid()) == (own.uid(), own.gid()) {
        return Ok(());
    }
    chown(file, Some(known.uid()), Some(known.gid()))
}

/// Elsewhere, a new file has the rights of its folder.
#[cfg(not(unix))]
fn keep_owner(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

/// A file beside another one.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}
