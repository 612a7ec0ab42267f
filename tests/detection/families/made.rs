//! A run in the making: what happens in it, at which pace, in which words. All choices come from one seed.

use serde_json::{Value, json};

/// Words that queries, file names and answers are made of.
pub(super) const WORDS: [&str; 40] = [
    "harbour", "ferry", "invoice", "copper", "library", "orchid", "tunnel", "glacier", "ledger",
    "violin", "pepper", "canyon", "basket", "signal", "meadow", "anchor", "bridge", "candle",
    "desert", "engine", "falcon", "garden", "hammer", "island", "jacket", "kettle", "ladder",
    "magnet", "needle", "oyster", "pencil", "quarry", "ribbon", "saddle", "temple", "umbrella",
    "valley", "window", "yogurt", "zipper",
];

/// How a failed call tells that it failed.
#[derive(Clone, Copy, PartialEq)]
enum Failing {
    /// In a field of its own.
    Text,
    /// By a flag; the words stand in the result.
    Flag,
    /// Not at all: the words stand in the result and look like any other.
    Result,
}

/// A run in the making.
pub(super) struct Made {
    state: u64,
    pub(super) events: Vec<Value>,
    /// The first event of what the run is about.
    pub(super) begins: usize,
    /// The last event of each repetition of it.
    pub(super) again: Vec<usize>,
    clock_ms: u64,
    /// Longest pause between two steps, in milliseconds.
    pace_ms: u64,
    failing: Failing,
    agent: &'static str,
    worker: Option<String>,
    done: u64,
}

impl Made {
    pub(super) fn new(seed: u64) -> Self {
        let mut made = Self {
            state: seed,
            events: Vec::new(),
            begins: 0,
            again: Vec::new(),
            clock_ms: 1_795_000_000_000,
            pace_ms: 0,
            failing: Failing::Text,
            agent: "assistant",
            worker: None,
            done: 0,
        };
        made.pace_ms = [1_500, 4_000, 9_000, 15_000][made.below(4)];
        made.failing = [Failing::Text, Failing::Flag, Failing::Result][made.below(3)];
        made.agent = ["assistant", "coder", "researcher"][made.below(3)];
        made
    }

    /// The next random number (splitmix64).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(super) fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from + 1)
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }

    pub(super) fn word(&mut self) -> &'static str {
        self.pick(&WORDS)
    }

    /// So many words, each another.
    pub(super) fn some_words(&mut self, count: usize) -> Vec<&'static str> {
        let mut all = WORDS.to_vec();
        (0..count)
            .map(|_| all.swap_remove(self.below(all.len())))
            .collect()
    }

    pub(super) fn words(&mut self, count: usize) -> String {
        self.some_words(count).join(" ")
    }

    pub(super) fn file(&mut self) -> String {
        let (dir, end) = (
            self.pick(&["src", "lib", "app/core", "tests"]),
            self.pick(&["py", "rs", "ts", "go"]),
        );
        format!("{dir}/{}_{}.{end}", self.word(), self.word())
    }

    pub(super) fn hex(&mut self) -> String {
        format!("{:016x}{:016x}", self.next(), self.next())
    }

    /// What a clock shows now, as logs print it.
    pub(super) fn time(&self) -> String {
        let seconds = self.clock_ms / 1_000;
        let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        format!(
            "2026-11-18T{hour:02}:{minute:02}:{second:02}.{:03}Z",
            self.clock_ms % 1_000
        )
    }

    /// The same in milliseconds since 1970.
    pub(super) fn now_ms(&self) -> u64 {
        self.clock_ms
    }

    pub(super) fn pause(&mut self, seconds: usize) {
        self.clock_ms += seconds as u64 * 1_000;
    }

    /// From now on the time between two steps is what is paused, and half a second.
    pub(super) fn steady(&mut self) {
        self.pace_ms = 1;
    }

    /// From now on the next steps are this agent's.
    pub(super) fn as_agent(&mut self, agent: &'static str) {
        self.agent = agent;
    }

    pub(super) fn as_worker(&mut self, worker: &str) {
        self.worker = Some(worker.to_owned());
    }

    /// Marks the end of one repetition.
    pub(super) fn again(&mut self) {
        self.again.push(self.events.len() - 1);
    }

    pub(super) fn add(&mut self, mut event: Value) {
        self.clock_ms += 500 + self.next() % self.pace_ms;
        event["i"] = json!(self.events.len());
        event["t_ms"] = json!(self.clock_ms);
        if event["agent"].is_null() {
            event["agent"] = json!(self.agent);
        }
        if let Some(worker) = &self.worker {
            event["worker"] = json!(worker);
        }
        self.events.push(event);
    }

    pub(super) fn call(&mut self, tool: &str, input: Value, output: impl Into<Value>) {
        let mut event = json!({"kind": "tool_call", "tool": tool});
        event["input"] = input;
        event["output"] = output.into();
        self.add(event);
    }

    pub(super) fn fails(&mut self, tool: &str, input: Value, error: &str) {
        let mut event = json!({"kind": "tool_call", "tool": tool});
        event["input"] = input;
        match self.failing {
            Failing::Text => event["error"] = json!(error),
            Failing::Flag => {
                event["error"] = json!(true);
                event["output"] = json!(error);
            }
            Failing::Result => event["output"] = json!(error),
        }
        self.add(event);
    }

    pub(super) fn sh(&mut self, command: &str, printed: &str) {
        self.call("bash", json!({"command": command}), printed);
    }

    pub(super) fn says(&mut self, text: &str) {
        self.add(json!({"kind": "llm_text", "text": text}));
    }

    pub(super) fn user(&mut self) {
        self.pause(20);
        self.add(json!({"kind": "user_message", "agent": "user"}));
    }

    /// What the run is about begins after at most so many steps of work.
    pub(super) fn begin(&mut self, steps_max: usize) {
        let steps = self.between(0, steps_max);
        self.work(steps);
        self.begins = self.events.len();
    }

    /// So many steps of work that gets on: other questions, other answers.
    pub(super) fn work(&mut self, steps: usize) {
        for _ in 0..steps {
            self.done += 1;
            let (done, file, words) = (self.done, self.file(), self.words(6));
            match self.below(4) {
                0 => self.call(
                    "read_file",
                    json!({"path": file}),
                    format!("// {words}\nfn step_{done}() {{}}"),
                ),
                1 => self.call(
                    "web_search",
                    json!({"query": words}),
                    json!({"results": [{"title": words, "rank": done}]}),
                ),
                2 => self.call("edit_file", json!({"path": file, "new": words}), "edited"),
                _ => self.sh(
                    &format!("grep -rn {} {file}", first(&words)),
                    &format!("{file}:{done}: {words}"),
                ),
            }
        }
    }
}

fn first(words: &str) -> &str {
    words.split(' ').next().unwrap_or(words)
}
