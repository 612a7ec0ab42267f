//! Tells a result that says that something is still under way from one that says how it ended.
//!
//! Who asks for a job gets the same answer until it is done: `{"state": "running"}`, `Still being made.` That it is the same
//! says little then. Only what the result itself is about counts: the state of an item in a list is that of the item.

mod doing;
mod tables;
mod told;

use std::iter;
use std::sync::LazyLock;

use memchr::{memchr, memmem};

use super::lexicon::Lexicon;
use super::sample::cut;
use super::wide::{self, before_end_ignoring_case};

/// What the name of a member ends with that holds a state or a verdict, in lower case.
const NAMES: [&str; 15] = [
    "status",
    "state",
    "phase",
    "stage",
    "lifecycle",
    "conclusion",
    "verdict",
    "decision",
    "statut",
    "estado",
    "stato",
    "zustand",
    "状态",
    "状態",
    "상태",
];

/// States of what is not done, in lower case, `_` for any sign between words.
const STATES: [&str; 43] = [
    "building",
    "deploying",
    "executing",
    "in_progress",
    "inprogress",
    "notready",
    "notstarted",
    "not_ready",
    "not_started",
    "pending",
    "processing",
    "provisioning",
    "queued",
    "running",
    "scheduled",
    "starting",
    "waiting",
    "en_cours",
    "en_attente",
    "in_arbeit",
    "in_bearbeitung",
    "in_prüfung",
    "in_vorbereitung",
    "wird_verarbeitet",
    "ausstehend",
    "en_proceso",
    "procesando",
    "pendiente",
    "pendente",
    "em_andamento",
    "processando",
    "in_corso",
    "in_attesa",
    "待审核",
    "处理中",
    "进行中",
    "运行中",
    "等待中",
    "排队中",
    "処理中",
    "待機中",
    "진행 중",
    "처리 중",
];

/// A bit for each length, in bytes, that some state has.
const STATE_LENGTHS: u64 = {
    let (mut lengths, mut at) = (0, 0);
    while at < STATES.len() {
        lengths |= 1 << STATES[at].len();
        at += 1;
    }
    lengths
};

/// How a sentence begins that says so, in the same form.
const BEGINNINGS: [&str; 4] = ["in_progress", "not_ready", "still_", "waiting_for_"];

/// How sentences of other languages say so, in lower case.
const ABROAD: [&str; 11] = [
    "wird noch|wird bearbeitet|noch in bearbeitung|läuft noch|bitte warten|wordt verwerkt|nog bezig|even geduld",
    "est en cours|traitement en cours|veuillez patienter|está en proceso|en proceso,|espere por favor|por favor espere",
    "em andamento|em processamento|aguarde|è in corso|attendere prego|w toku|w trakcie|proszę czekać",
    "выполняется|обрабатывается|подождите|ожидайте| обработке|на рассмотрении|виконується|обробляється|зачекайте",
    "işleniyor|devam ediyor|lütfen bekleyin|قيد المعالجة|قيد التنفيذ|يرجى الانتظار",
    "đang xử lý|đang chạy|đang tiến hành|vui lòng chờ|sedang diproses|masih berjalan|mohon tunggu",
    "संसाधित किया जा रहा|प्रतीक्षा करें|กำลังดำเนินการ|กำลังประมวลผล|กรุณารอ",
    "处理中|进行中|运行中|执行中|生成中|排队中|正在处理|正在进行|正在运行|正在执行|正在生成|尚未完成|请稍候|请稍等",
    "處理中|進行中|執行中|排隊中|正在處理|正在執行|尚未完成|請稍候",
    "処理中|実行中|生成中|待機中|まだ完了して|しばらくお待ち|少々お待ち",
    "처리 중|진행 중|실행 중|대기 중|아직 완료되지|기다려 주",
];

static SENTENCES: LazyLock<Lexicon<()>> = LazyLock::new(|| Lexicon::of_rows(&ABROAD));

/// What stands between the subject of a sentence and such a state: `The command is still running.`
const STILL: &str = " is still ";

/// Longest text that is a state or such a sentence.
const SENTENCE_BYTES_MAX: usize = 128;

/// How much of a text is looked at for elements, and of what systemd shows for states.
const ELEMENTS_BYTES_MAX: usize = 1_024;

/// Whether a text is such a state, a sentence that says so, or begins with elements of which one holds such a state.
pub(super) fn says_pending(text: &str) -> bool {
    if text.starts_with('<') {
        let says_so = |inner: &str| says_pending(inner) || is_doing(inner);
        return elements(text).any(|(name, inner)| names_state(name) && says_so(inner));
    }
    is_pending(text.as_bytes())
        || says_still(text)
        || says_so_abroad(text)
        || tables::shows_what_is_to_be(text)
}

/// The same of a result, which may say so in ordinary words, too, or be the word for a state and nothing else: such words of a
/// refusal are why it was refused.
pub(super) fn is_under_way(text: &str) -> bool {
    says_pending(text) || doing::is_doing_alone(text) || told::says_so(text)
}

/// Whether a text, as the state of something, says by its form that this is under way: `transcribing`, `CREATE_IN_PROGRESS`.
pub(super) fn is_doing(state: &str) -> bool {
    doing::is_doing(state)
}

/// Whether a short text is a sentence of another language that says so.
fn says_so_abroad(text: &str) -> bool {
    if text.len() > SENTENCE_BYTES_MAX {
        return false;
    }
    // A sentence has blanks, or letters that need none.
    wide::any(text.as_bytes(), |byte| byte == b' ' || byte >= 0x80) && SENTENCES.is_said_in(text)
}

/// Whether a word is the state of a pod's that fails.
pub(super) fn is_failing_state(word: &str) -> bool {
    tables::is_failing_state(word)
}

/// Whether a text is the state of what has ended and failed, or what systemd shows of a unit that did or is started anew and anew,
/// Kubernetes of a pod, Docker of a container, or GitHub's program of a run.
pub(super) fn says_failed(text: &str) -> bool {
    if let Some(unit) = text.strip_prefix("\u{25cf} ") {
        let shown = cut(unit, ELEMENTS_BYTES_MAX);
        return UNIT_FAILED.iter().any(|state| shown.contains(state));
    }
    let is_unit = |shown: &str| !shown.is_empty();
    text.strip_prefix("\u{d7} ").is_some_and(is_unit)
        || is_failed(text)
        || is_one_of(&DENIED, text)
        || (memchr(b'\t', text.as_bytes()).is_some() && is_failed_row(text))
        || is_verdict(text)
        || tables::shows_failing(text)
        || (text.starts_with("X ") && cut(text, SENTENCE_BYTES_MAX).contains(RUN))
}

/// `Validation FAILED: column email …`: a word or two, and in capitals that it failed.
fn is_verdict(text: &str) -> bool {
    let line = cut(text, SENTENCE_BYTES_MAX);
    // To look for words is dearer than for a letter that hardly any text has.
    if memchr(b'F', line.as_bytes()).is_none() {
        return false;
    }
    let what = line.split_once(" FAILED: ").map(|(what, _)| what);
    what.is_some_and(|what| !what.is_empty() && what.split(' ').count() <= VERDICT_WORDS_MAX)
}

/// Most words of what has failed by such a verdict.
const VERDICT_WORDS_MAX: usize = 2;

/// States of what has failed, in lower case.
const FAILED: [&str; 3] = ["fail", "failed", "failure"];

/// Whether a word is such a state, or says that there was an error.
pub(super) fn is_failed(word: &str) -> bool {
    is_one_of(&FAILED, word) || word.eq_ignore_ascii_case("error")
}

/// Other states of what has ended and failed, and verdicts that say no, in lower case.
const DENIED: [&str; 8] = [
    "crashed",
    "rejected",
    "denied",
    "deny",
    "declined",
    "refused",
    "changes_requested",
    "request_changes",
];

/// Whether the first row of a table, as programs print them for others, has a cell that says that something has failed. `error` may
/// stand above a column.
fn is_failed_row(text: &str) -> bool {
    let row = cut(text, ELEMENTS_BYTES_MAX).lines().next();
    let mut cells = row.unwrap_or_default().split('\t').map(str::trim);
    cells.any(|cell| is_one_of(&FAILED, cell))
}

fn is_one_of(known: &[&str], word: &str) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// What stands between the name of a workflow and the number of its run, `X main CI · 4711`.
const RUN: &str = " \u{b7} ";

/// How systemd says so of a unit.
const UNIT_FAILED: [&str; 2] = ["Active: failed", "Active: activating (auto-restart)"];

fn is_pending(text: &[u8]) -> bool {
    // Nearly every text is told by its first letter.
    let may = matches!(
        text.first().map(u8::to_ascii_lowercase),
        Some(b'a' | b'b' | b'd' | b'e' | b'i' | b'n' | b'p' | b'q' | b'r' | b's' | b'w' | 0x80..)
    );
    may && text.len() <= SENTENCE_BYTES_MAX
        && (is_state(text) || BEGINNINGS.iter().any(|words| begins(text, words)))
}

/// Whether a text is one of [`STATES`].
fn is_state(text: &[u8]) -> bool {
    let bit = 1_u64.checked_shl(text.len() as u32).unwrap_or_default();
    if STATE_LENGTHS & bit == 0 {
        return false;
    }
    let is_it = |state: &&str| state.len() == text.len() && begins(text, state);
    STATES.iter().any(is_it)
}

/// Lists of what an agent itself has to do: that one thing is left says nothing of one that is waited for.
const TO_DO: [&str; 7] = [
    "tasks",
    "todos",
    "newTodos",
    "plan",
    "steps",
    "subtasks",
    "checklist",
];

/// Whether a member of this name may list what was asked about: of a list of one such thing, its state is what was asked for.
pub(super) fn lists_asked(key: &str) -> bool {
    !TO_DO.contains(&key)
}

/// Whether a short text says of something that it is still under way.
fn says_still(text: &str) -> bool {
    if text.len() > SENTENCE_BYTES_MAX || text.len() <= STILL.len() {
        return false;
    }
    let place = memmem::find(text.as_bytes(), STILL.as_bytes());
    let state = place.map(|at| &text.as_bytes()[at + STILL.len()..]);
    state.is_some_and(|state| STATES.iter().any(|known| begins(state, known)))
}

/// The elements that follow one another at the start of a text: names and what they hold, as far as that is no element itself.
fn elements(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = cut(text, ELEMENTS_BYTES_MAX);
    iter::from_fn(move || {
        let (name, behind) = rest.trim_start().strip_prefix('<')?.split_once('>')?;
        let (inner, behind) = behind.split_once("</")?;
        rest = behind.strip_prefix(name)?.strip_prefix('>')?;
        Some((name, inner.trim()))
    })
}

fn begins(text: &[u8], words: &str) -> bool {
    let is_same = |(byte, expected): (&u8, u8)| match expected {
        b'_' => matches!(byte, b'_' | b'-' | b' '),
        _ => byte.to_ascii_lowercase() == expected,
    };
    text.len() >= words.len() && text.iter().zip(words.bytes()).all(is_same)
}

/// Whether a member of this name holds a state.
pub(super) fn names_state(key: &str) -> bool {
    NAMES
        .iter()
        .any(|name| before_end_ignoring_case(key, name).is_some())
}

#[cfg(test)]
mod tests {
    use crate::engine::policy::ToolSettings;
    use crate::normalize::value::output_json;

    /// Given results, those say that something is under way that tell its state so, or are a sentence that does.
    #[test]
    fn states_and_sentences() {
        let check = |result: &str, expected: bool| {
            let output = output_json(&ToolSettings::PLAIN, result);
            let value = output.value().expect("a value");
            assert_eq!(value.pending, expected, "{result}");
        };
        for pending in [
            r#"{"id":"a1","state":"running"}"#,
            r#"{"jobStatus":"IN_PROGRESS"}"#,
            r#"{"job":{"id":7,"status":"queued"}}"#,
            r#"{"phase":"Waiting for approval"}"#,
            "PENDING",
            "The command is still running.",
            "Deployment web is still in progress (2 of 3)",
            "<retrieval_status>timeout</retrieval_status>\n\n<task_id>b1</task_id>\n\n<status>running</status>\n\n<output>\n</output>",
            "<status> Running </status>",
            "Still being made.",
            "NAME    READY   STATUS              RESTARTS   AGE\nweb-0   0/1     ContainerCreating   0          5s\n",
            "NAME    READY   STATUS     RESTARTS   AGE\nweb-0   1/1     Running    0          5s\nweb-1   0/2     Init:0/1   0          5s\n",
            "任务正在处理中，请稍候。",
            "処理中です。しばらくお待ちください。",
            "아직 완료되지 않았습니다. 잠시만 기다려 주세요.",
            "Задание выполняется, подождите.",
            "Der Auftrag wird noch bearbeitet.",
            "Traitement en cours, veuillez patienter.",
            "Em andamento, aguarde.",
            "Đang xử lý, vui lòng chờ.",
            "Waiting for deployment web: 1 of 3 updated replicas are available...",
            r#"{"Status":"InProgress"}"#,
            r#"{"ready":false}"#,
            r#"{"running":true,"pid":7}"#,
            r#"{"stage":"queued","progress":null}"#,
            r#"{"jobs":[{"id":"j1","status":"running"}]}"#,
            r#"{"services":[{"name":"a","deployments":[{"rolloutState":"IN_PROGRESS"}]}]}"#,
            r#"{"StackName":"net","StackStatus":"CREATE_IN_PROGRESS"}"#,
            r#"{"id":"t1","status":"transcribing"}"#,
            "Status: transcribing",
            "<status>rendering</status>",
            "Deployment is in progress.",
            "transcribing",
            "\"CREATE_IN_PROGRESS\"",
            "db-1\tcreating",
            r#"{"auftrag":"A-77","status":"In Arbeit"}"#,
            r#"{"状態":"審査中"}"#,
            r#"{"상태":"심사 중"}"#,
            r#"{"status":"В обработке"}"#,
            "The export has not finished yet.",
            "0 of 3 replicas are ready",
            "Ready: False",
            "NAME    READY   STATUS    RESTARTS   AGE\nweb-0   0/1     Pending   0          5s\n",
            "NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nweb    3/6     6            3           41d",
            "NAME   STATUS\napi    Up 9 seconds (health: starting)",
        ] {
            check(pending, true);
        }
        for other in [
            r#"{"id":"a1","state":"succeeded"}"#,
            r#"{"title":"running","state":"open"}"#,
            r#"{"tasks":[{"content":"sweep","status":"pending"}]}"#,
            r#"[{"content":"sweep","status":"pending"}]"#,
            r#"{"jobs":[{"status":"done"},{"status":"running"}]}"#,
            r#"{"ready":true}"#,
            r#"{"running":false}"#,
            r#"{"status":"missing"}"#,
            r#"{"title":"transcribing","status":"done"}"#,
            r#"{"labels":["pending"]}"#,
            "<status>completed</status>\n\n<exit_code>0</exit_code>",
            "<task><status>pending</status><title>sweep</title></task>",
            "<stdout>all is still running well, or so it seems</stdout>",
            "<status>run",
            "Nothing is still",
            "He is still here, and nobody knows why he is running",
            "Running 3 tests",
            "stillness",
            "pending orders: 4",
            "NAME    READY   STATUS    RESTARTS   AGE\nweb-0   1/1     Running   0          5s\n",
            "NAME    READY   STATUS    RESTARTS   AGE\nweb-0   0/1     Pending   0          9m\n",
            r#"{"状态":"使用中"}"#,
            r#"{"labels":["rendering"]}"#,
            "Pods may stay in the state ContainerCreating for long.",
            "已处理",
            "処理しました",
            "Выполнено",
            "Der Auftrag wird morgen geliefert.",
            "Les cours de la bourse",
            "",
        ] {
            check(other, false);
        }
    }

    /// Given results, those are verdicts that say no that tell faults beside it, or that something has failed; what counts the
    /// attempts makes such a no no other one.
    #[test]
    fn verdicts() {
        let told = |result: &str| {
            let output = output_json(&ToolSettings::PLAIN, result);
            output.value().expect("a value").clone()
        };
        for no in [
            r#"{"success":false,"failed":[{"column":"email"}]}"#,
            r#"{"violations":["email"],"ok":false}"#,
            r#"{"status":"FAIL","checks":[{"name":"email"}]}"#,
            "Validation FAILED: column email: 412 unexpected values",
            r#"{"success":false,"output":"undefined symbol a"}"#,
            r#"{"errors":["undefined symbol a"]}"#,
        ] {
            assert!(told(no).denies, "{no}");
        }
        for other in [
            r#"{"success":false,"failed":[]}"#,
            r#"{"success":true,"warnings":["old"]}"#,
            r#"{"ok":false,"items":["a"]}"#,
            r#"{"errors":["a is old"],"file":"a"}"#,
            r#"{"errors":[]}"#,
            "Which of the runs FAILED: all of them",
            "FAILED: a",
        ] {
            assert!(!told(other).denies, "{other}");
        }
        let refused = |attempt: u8| {
            let result = format!(r#"{{"accepted":false,"attempt":{attempt},"message":"Sign it"}}"#);
            told(&result).masked
        };
        assert_eq!(refused(1), refused(2));
        let failed =
            |id: u32| told(&format!(r#"{{"job":{{"id":{id},"status":"failed"}}}}"#)).masked;
        assert_eq!(failed(90_000), failed(90_013));
        assert_ne!(failed(7), failed(8));
        let counted = |attempt: u8| told(&format!(r#"{{"attempt":{attempt}}}"#)).masked;
        assert_ne!(counted(1), counted(2));
    }
}
