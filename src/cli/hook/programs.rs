//! The programs that have such hooks: where they are entered, what their events are called, and how they are answered.
//!
//! | program | from | events | answers |
//! |---|---|---|---|
//! | Claude Code | 2.1.9, the first whose `PreToolUse` takes `additionalContext` | `PreToolUse`, `PostToolUse`, `PostToolUseFailure`, `UserPromptSubmit` | `hookSpecificOutput`, `continue` |
//! | Codex | 0.124, the first whose hooks are on by default; before that, `codex_hooks = true` | the same without `PostToolUseFailure` | the same, but `PreToolUse` cannot end the run |
//! | Gemini CLI | 0.26, the first whose hooks are on by default | `BeforeTool`, `AfterTool`, `BeforeAgent` | `decision`, `continue`; a nudge only with the result |
//!
//! From their manuals: the hooks reference of Claude Code (code.claude.com/docs/en/hooks), of Codex
//! (developers.openai.com/codex/hooks) and of Gemini CLI (geminicli.com/docs/hooks/reference), read in November 2026.
//! Versions are those that the manuals and change logs name.

use std::fs;
use std::io;
#[cfg(unix)]
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::Told;
use crate::cli::failure::{Failure, remark};
use crate::config::state_home;
use crate::engine::guard::verdict::VerdictKind;
use crate::json::VerdictJson;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Program {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
    /// Gemini CLI
    GeminiCli,
}

/// When a hook is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// A tool is about to be called.
    Before,
    /// It has been called.
    After,
    /// The user has said something.
    Prompt,
}

impl Program {
    /// Its name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
        }
    }

    /// Its name for people.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
        }
    }

    /// Its events that we are entered for.
    pub(super) const fn events(self) -> &'static [(&'static str, Moment)] {
        match self {
            Self::ClaudeCode => &[
                ("PreToolUse", Moment::Before),
                ("PostToolUse", Moment::After),
                ("PostToolUseFailure", Moment::After),
                ("UserPromptSubmit", Moment::Prompt),
            ],
            Self::Codex => &[
                ("PreToolUse", Moment::Before),
                ("PostToolUse", Moment::After),
                ("UserPromptSubmit", Moment::Prompt),
            ],
            Self::GeminiCli => &[
                ("BeforeTool", Moment::Before),
                ("AfterTool", Moment::After),
                ("BeforeAgent", Moment::Prompt),
            ],
        }
    }

    /// What the program is told after how long we may be ended: five seconds, in its own unit.
    pub(super) const fn timeout(self) -> u32 {
        match self {
            Self::ClaudeCode | Self::Codex => 5,
            Self::GeminiCli => 5000,
        }
    }

    /// What is left to do for the person after the installation.
    pub(super) const fn remains(self) -> &'static str {
        match self {
            Self::Codex => "Codex runs new hooks only once they are trusted: type /hooks in it.",
            Self::ClaudeCode | Self::GeminiCli => "It is in force from the next session on.",
        }
    }

    /// The settings file of this user.
    pub(super) fn settings(self) -> Result<PathBuf, Failure> {
        let (variable, folder, file) = match self {
            Self::ClaudeCode => (Some("CLAUDE_CONFIG_DIR"), ".claude", "settings.json"),
            Self::Codex => (Some("CODEX_HOME"), ".codex", "hooks.json"),
            Self::GeminiCli => (None, ".gemini", "settings.json"),
        };
        let set = variable
            .and_then(std::env::var_os)
            .filter(|dir| !dir.is_empty());
        let folder = match set {
            Some(dir) => PathBuf::from(dir),
            None => std::env::home_dir()
                .ok_or_else(|| {
                    let title = self.title();
                    Failure::Other(format!(
                        "there is no home directory: say with --settings where {title} keeps its settings"
                    ))
                })?
                .join(folder),
        };
        Ok(folder.join(file))
    }

    /// Which moment an event is; none for one that we have not asked for.
    pub(super) fn moment(self, event: &str) -> Option<Moment> {
        let events = self.events().iter();
        events
            .copied()
            .find_map(|(name, moment)| (name == event).then_some(moment))
    }

    /// What the program is told. Nothing means that it goes on, and that its own permissions hold: an explicit `allow`
    /// would overrule them.
    pub(super) fn says(self, moment: Moment, told: &Told, answer: &VerdictJson) -> Option<Value> {
        if moment == Moment::After {
            return self.says_after(told);
        }
        let text = answer.text()?;
        let event = told.hook_event_name.as_str();
        let context =
            || json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}});
        if moment == Moment::Prompt {
            return Some(context());
        }
        match (self, answer.verdict) {
            (_, VerdictKind::Allow) => None,
            (Self::GeminiCli, VerdictKind::Nudge) => {
                keep_nudge(told, &text);
                None
            }
            (_, VerdictKind::Nudge) => Some(context()),
            (Self::GeminiCli, VerdictKind::Skip) => {
                Some(json!({"decision": "deny", "reason": text}))
            }
            (Self::GeminiCli, VerdictKind::Abort) => Some(
                json!({"decision": "deny", "reason": text, "continue": false, "stopReason": text}),
            ),
            (Self::ClaudeCode, VerdictKind::Abort) => {
                let mut said = denied(event, &text);
                said["continue"] = json!(false);
                said["stopReason"] = json!(text);
                Some(said)
            }
            (Self::Codex, VerdictKind::Abort) => {
                let mut said = denied(event, &text);
                said["systemMessage"] = json!(text);
                Some(said)
            }
            (_, VerdictKind::Skip) => Some(denied(event, &text)),
        }
    }

    /// A nudge that the program takes only with the result.
    fn says_after(self, told: &Told) -> Option<Value> {
        if self != Self::GeminiCli {
            return None;
        }
        let event = told.hook_event_name.as_str();
        let text = take_nudge(told)?;
        Some(json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}))
    }
}

fn denied(event: &str, text: &str) -> Value {
    json!({"hookSpecificOutput": {
        "hookEventName": event,
        "permissionDecision": "deny",
        "permissionDecisionReason": text,
    }})
}

/// Keeps a nudge until the call is over. One that cannot be kept is lost, and the guard gives the next one sooner or
/// later.
fn keep_nudge(told: &Told, text: &str) {
    let kept = nudge_file(told).and_then(|path| {
        let directory = path.parent()?;
        make_private(directory).ok()?;
        forget_old(directory);
        fs::write(path, text).ok()
    });
    if kept.is_none() {
        remark(format_args!(
            "eddy hook: a nudge could not be kept until the call is over: {text}"
        ));
    }
}

/// Makes a directory for this user alone: nudges tell what was called.
fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(directory)
}

/// How long a nudge is kept. A call that the user declines is never told to be over.
const NUDGE_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes the nudges that nobody came for.
fn forget_old(directory: &Path) {
    for file in fs::read_dir(directory).into_iter().flatten().flatten() {
        let written = file.metadata().and_then(|file| file.modified()).ok();
        let age = written.and_then(|written| written.elapsed().ok());
        if age.is_some_and(|age| age > NUDGE_KEPT) {
            let _ = fs::remove_file(file.path());
        }
    }
}

fn take_nudge(told: &Told) -> Option<String> {
    let path = nudge_file(told)?;
    let text = fs::read_to_string(&path).ok()?;
    fs::remove_file(path).ok()?;
    Some(text)
}

/// Where the nudge for a call waits: in a directory of the hook's own, since the daemon's holds nothing but stores.
fn nudge_file(told: &Told) -> Option<PathBuf> {
    let call = json!([told.session_id, told.tool_name, told.tool_input]).to_string();
    let state = state_home(&|name| std::env::var(name).ok())?;
    let name = format!("{:016x}", xxh3_64(call.as_bytes()));
    Some(state.join("eddy-hook").join(name))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn answer(verdict: VerdictKind) -> VerdictJson {
        VerdictJson {
            verdict,
            message: Some("stop".to_owned()),
            ..VerdictJson::default()
        }
    }

    fn told(event: &str) -> Told {
        let text = json!({"session_id": "s", "hook_event_name": event, "tool_name": "Bash"});
        serde_json::from_value(text).unwrap()
    }

    /// Given nudges that nobody came for, those of yesterday are removed.
    #[test]
    fn old_nudges_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        for (name, age) in [("old", NUDGE_KEPT * 2), ("new", NUDGE_KEPT / 2)] {
            let file = fs::File::create(directory.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        forget_old(directory.path());
        let left = fs::read_dir(directory.path()).unwrap();
        let left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, ["new"]);
    }

    /// Given a call that may run, nothing is said: an explicit permission would overrule the user's own rules.
    #[test]
    fn allowing_is_silent() {
        for program in Program::value_variants() {
            let event = program.events()[0].0;
            let said = program.says(Moment::Before, &told(event), &answer(VerdictKind::Allow));
            assert_eq!(said, None);
        }
    }

    /// Given each verdict, the form that each program's manual asks for.
    #[test]
    fn each_program_is_answered_in_its_own_form() {
        let says = |program: Program, verdict| {
            program.says(
                Moment::Before,
                &told(program.events()[0].0),
                &answer(verdict),
            )
        };
        let context = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "stop"}});
        let deny = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
            "permissionDecision": "deny", "permissionDecisionReason": "stop"}});
        for program in [Program::ClaudeCode, Program::Codex] {
            assert_eq!(says(program, VerdictKind::Nudge), Some(context.clone()));
            assert_eq!(says(program, VerdictKind::Skip), Some(deny.clone()));
        }
        let ended = says(Program::ClaudeCode, VerdictKind::Abort).unwrap();
        assert_eq!(ended["continue"], false);
        // Codex refuses an answer of PreToolUse that has `continue`.
        let ended = says(Program::Codex, VerdictKind::Abort).unwrap();
        assert_eq!(ended.get("continue"), None);
        assert_eq!(ended["hookSpecificOutput"], deny["hookSpecificOutput"]);
        let denied = says(Program::GeminiCli, VerdictKind::Skip);
        assert_eq!(denied, Some(json!({"decision": "deny", "reason": "stop"})));
        assert_eq!(
            says(Program::GeminiCli, VerdictKind::Abort).unwrap()["continue"],
            false
        );
    }
}
