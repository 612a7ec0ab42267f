//! Scripted agents that ask the guard over gRPC, on every constructed run of `tests/labelled/grafted.tune.jsonl.gz`.
//!
//! An agent makes the calls of its recorded run, and asks before each. In a run with a loop it goes on with the loop after the
//! recording ends, as a stuck agent does, until it has made [`STEPS_MAX`] steps since the onset; that is what it would cost
//! without a guard. It does not make a call that is refused. It overhears what it is told once; when it is told again, by a
//! nudge or a refusal, it leaves its loop. An agent that is *deaf* leaves never, so that only refusals save anything.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read an answer has failed"
)]

use std::collections::BTreeMap;
use std::io::Read;

use eddy::api::v1;
use eddy::api::v1::guard_service_client::GuardServiceClient;
use flate2::read::GzDecoder;
use serde_json::Value;
use tonic::transport::Channel;

use super::support::{Daemon, free_port, runtime};

/// Steps (tool calls, and turns of text where the loop is one of talk) after which an agent is stopped by its framework.
const STEPS_MAX: usize = 25;

/// How often a hearing agent must be told before it leaves its loop.
const TOLD_ENOUGH: usize = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    without: usize,
    made: usize,
    refused: usize,
    nudged: usize,
}

struct Agent {
    guard: GuardServiceClient<Channel>,
    run_id: String,
    hears: bool,
    asked: usize,
    told: usize,
    steps: Steps,
}

impl Agent {
    /// Takes one step of the script.
    async fn step(&mut self, event: &Value) {
        match event["kind"].as_str() {
            Some("tool_call") => self.call(event).await,
            Some("llm_text") => self.say(event).await,
            _ => {}
        }
    }

    async fn call(&mut self, event: &Value) {
        self.asked += 1;
        let call_id = format!("call-{}", self.asked);
        let question = v1::CheckToolCallRequest {
            run_id: self.run_id.clone(),
            tool: event["tool"].as_str().unwrap().to_owned(),
            arguments: text_of(&event["input"]),
            call_id: Some(call_id.clone()),
            agent: event["agent"].as_str().map(str::to_owned),
            ..Default::default()
        };
        let asked = self.guard.check_tool_call(question.clone()).await;
        let answer = asked.unwrap().into_inner();
        assert!(!answer.degraded, "{answer:?}");
        match answer.verdict() {
            v1::Verdict::Skip | v1::Verdict::Abort => {
                self.told += 1;
                self.steps.refused += 1;
                return;
            }
            v1::Verdict::Nudge => {
                self.told += 1;
                self.steps.nudged += 1;
            }
            _ => {}
        }
        self.steps.made += 1;
        let failed = !event["error"].is_null() && event["error"] != Value::Bool(false);
        let output = text_of(&event["output"]);
        let report = v1::ReportToolResultRequest {
            run_id: question.run_id,
            tool: question.tool,
            call_id: question.call_id,
            agent: question.agent,
            status: if failed { 3 } else { 1 },
            error: failed.then(|| output.clone().unwrap_or_default()),
            result: output.filter(|_| !failed),
            ..Default::default()
        };
        self.guard.report_tool_result(report).await.unwrap();
    }

    async fn say(&mut self, event: &Value) {
        let is_user = event["agent"].as_str() == Some("user");
        let message = v1::ReportMessageRequest {
            run_id: self.run_id.clone(),
            kind: if is_user { 2 } else { 1 },
            text: text_of(&event["input"]).or_else(|| text_of(&event["text"])),
            agent: event["agent"]
                .as_str()
                .filter(|_| !is_user)
                .map(str::to_owned),
            ..Default::default()
        };
        let answer = self.guard.report_message(message).await.unwrap();
        if answer.into_inner().message.is_some() {
            self.told += 1;
            self.steps.nudged += 1;
        }
        self.steps.made += usize::from(!is_user);
    }

    fn has_left(&self) -> bool {
        self.hears && self.told >= TOLD_ENOUGH
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn runs() -> Vec<Value> {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/labelled/grafted.tune.jsonl.gz"
    );
    let mut text = String::new();
    let bytes = std::fs::read(file).unwrap();
    GzDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Plays one run, and counts the steps since its onset.
async fn play(guard: GuardServiceClient<Channel>, run: &Value, hears: bool) -> Steps {
    let events = run["events"].as_array().unwrap();
    let label = &run["label"];
    let loops = label["looping"] == Value::Bool(true);
    let mut agent = Agent {
        guard,
        run_id: format!("{} {hears}", run["run_id"].as_str().unwrap()),
        hears,
        asked: 0,
        told: 0,
        steps: Steps::default(),
    };
    if !loops {
        for event in events {
            agent.step(event).await;
        }
        return agent.steps;
    }
    let onset = label["onset_event"].as_u64().unwrap() as usize;
    let length = label["onset_len"].as_u64().unwrap() as usize;
    for event in &events[..onset] {
        agent.step(event).await;
    }
    agent.steps = Steps::default();
    agent.told = 0;
    let pattern = &events[onset..onset + length];
    for event in pattern.iter().cycle().take(STEPS_MAX) {
        if agent.has_left() {
            break;
        }
        agent.step(event).await;
    }
    agent.steps.without = STEPS_MAX;
    agent.steps
}

/// Given every constructed loop, an agent that asks the guard makes at least 60 % fewer steps after the onset than without,
/// in every scenario; given every look-alike, not one call is refused.
#[test]
fn loops_are_cut_short_and_look_alikes_are_left_alone() {
    let data = tempfile::tempdir().unwrap();
    // What is measured here is what is answered; on a busy machine an answer may come late.
    let config = data.path().join("eddy.yaml");
    std::fs::write(&config, "guard: {deadline_ms: 10000}\n").unwrap();
    let arguments = ["--config", config.to_str().unwrap()];
    let daemon = Daemon::start_with(&data.path().join("data"), free_port(), &arguments);
    let runs = runs();
    let mut scenarios: BTreeMap<String, [Steps; 2]> = BTreeMap::new();
    runtime().block_on(async {
        let url = format!("http://{}", daemon.api);
        let guard = GuardServiceClient::connect(url).await.unwrap();
        for run in &runs {
            let name = run["label"]["scenario"].as_str().unwrap();
            for (which, hears) in [(0, true), (1, false)] {
                let steps = play(guard.clone(), run, hears).await;
                let sum = &mut scenarios.entry(name.to_owned()).or_default()[which];
                sum.without += steps.without;
                sum.made += steps.made;
                sum.refused += steps.refused;
                sum.nudged += steps.nudged;
            }
        }
    });
    let fewer = |steps: &Steps| 100.0 - 100.0 * steps.made as f64 / steps.without as f64;
    for (name, [hearing, deaf]) in &scenarios {
        println!("{name:<20} hearing {hearing:?} deaf {deaf:?}");
        if name.starts_with("P_") {
            println!(
                "{:<20} hearing {:.0} % fewer, deaf {:.0} %",
                "",
                fewer(hearing),
                fewer(deaf)
            );
        }
    }
    for (name, [hearing, deaf]) in &scenarios {
        if name.starts_with("P_") {
            assert!(fewer(hearing) >= 60.0, "{name}: {hearing:?}");
        } else {
            assert_eq!((hearing.refused, deaf.refused), (0, 0), "{name}");
        }
    }
}
