//! A store that an earlier build of the same format left is read.

use super::*;
use crate::engine::event::Body;
use crate::engine::policy::Policy;
use crate::engine::{Input, RunState, step};

/// Given the store in `tests/store_formats`, and one that was just written, each shows what was put into it.
#[tokio::test]
async fn what_earlier_builds_wrote_is_read() {
    let new = TempDir::new().unwrap();
    let store = open(new.path());
    fill(&store).await;
    store.close().await.unwrap();
    check(new.path());

    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store_formats");
    let dir = TempDir::new().unwrap();
    copy(&formats.join(open::SCHEMA_KNOWN.to_string()), dir.path());
    check(dir.path());
}

/// Puts into a store what the one in `tests/store_formats` holds; see the page there.
async fn fill(store: &Store) {
    let turn = filling();
    store.put_policy(turn.policy, "{}".into()).await.unwrap();
    store.commit(turn).await.unwrap();
    let run = SavedRun {
        state: records::encode_run(&run_state()),
        ..saved(5, "run", 0)
    };
    store.save_runs(vec![run]).await.unwrap();
    store.set_exporter_cursor("webhook", 1).unwrap();
}

fn check(dir: &Path) {
    let store = open(dir);
    let turn = filling();
    assert_eq!(replayed(&store), [(1, turn.entries, turn.policy)]);
    let mut listed = store.run_ids_newest_first(None, 9).unwrap();
    // It has a state and was never begun: it is listed where the runs have to be counted.
    listed.retain(|key| &*key.run_id != "run");
    assert_eq!(listed, turn.new_runs);
    assert_eq!(store.alias(TRACE).unwrap().as_deref(), Some("run"));
    assert_eq!(aliases_of(&store, "run"), [TRACE]);
    let alerts = store.alerts_after(0, 9).unwrap();
    let expected = (1..)
        .zip(turn.alerts)
        .map(|(cursor, alert)| Alert { cursor, ..alert });
    assert_eq!(alerts, expected.collect::<Vec<_>>());
    assert_eq!(store.policy(turn.policy).unwrap().as_deref(), Some("{}"));
    assert_eq!(store.exporter_cursor("webhook").unwrap(), 1);

    let run = store.load_run("run").unwrap().expect("the run was saved");
    assert_eq!((run.key, run.position), (key(5, "run"), 6));
    let state = records::decode_run(&run.state).expect("the state can be read");
    let (shown, expected) = (state.view(&policy()), run_state().view(&policy()));
    assert_eq!(shown.tool_calls, 5);
    assert!(!shown.warnings.is_empty());
    assert_eq!(shown.warnings.len(), expected.warnings.len());
    assert_eq!(shown.first_seen_ns, expected.first_seen_ns);
    for (cursor, run_id) in (1..).zip(["run", "other"]) {
        let newest = store.newest_alerts_of(run_id).unwrap();
        let newest: Vec<_> = newest.iter().map(|alert| alert.cursor).collect();
        assert_eq!(newest, [cursor]);
    }
}

fn filling() -> Turn {
    let mut turn = samples::tool_calls(5);
    turn.aliases = vec![(TRACE, "run".into())];
    turn.alerts = vec![samples::raised("run"), samples::raised("other")];
    turn.entries.extend([
        Entry::Idle {
            run_id: "run".into(),
            at_ms: 1,
        },
        Entry::Absorb {
            into: "run".into(),
            from: "other".into(),
            state: vec![1, 2, 3],
        },
        Entry::Removed {
            run_id: "other".into(),
        },
    ]);
    turn
}

fn policy() -> Policy {
    let standard = include_str!("../../../config/profiles/standard.yaml");
    serde_saphyr::from_str(standard).expect("the built-in profile is valid")
}

/// A run that has a warning.
fn run_state() -> RunState {
    let mut state = RunState::new("run".into());
    let turn = samples::tool_calls(1);
    let Entry::Reports { at_ms, events, .. } = &turn.entries[0] else {
        panic!("the sample is a report");
    };
    for i in 0..5 {
        let mut event = events[0].clone();
        event.id += i;
        event.start_ns += i * 1_000_000_000;
        event.end_ns += i * 1_000_000_000;
        if let Body::ToolCall(call) = &mut event.body {
            call.call_id = Some(i);
        }
        let input = Input::Reports {
            at_ms: *at_ms,
            session_id: None,
            service: None,
            events: vec![event],
        };
        step(&mut state, &input, &policy());
    }
    state
}
