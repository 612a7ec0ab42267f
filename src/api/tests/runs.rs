//! Runs, and the listing of warnings.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tonic::Code;
use tonic_types::StatusExt;

use super::{Fixture, PATIENCE, tool_call};
use crate::api::v1;
use crate::normalize::{Report, RunRef};
use crate::shard::guard::{GuardContext, GuardedCall};

/// A looping run is given with its warning, alike over gRPC and as JSON.
#[tokio::test]
async fn a_run_is_shown_with_its_warning() {
    let eddy = Fixture::start().await;
    eddy.report_loop("chat/1", "scout", 0..4).await;

    let request = v1::GetRunRequest {
        run_id: "chat/1".into(),
    };
    let run = eddy.runs().await.get_run(request).await.unwrap();
    let run = run.into_inner().run.unwrap();
    assert_eq!(
        (run.run_id.as_str(), run.tool_calls, run.score),
        ("chat/1", 4, 75)
    );
    assert_eq!(run.status(), v1::RunStatus::Warning);
    assert_eq!(run.ended(), v1::RunEnding::Open);
    assert_eq!(run.first_seen_time.unwrap().seconds, 1_700_000_000);
    let rules: Vec<&str> = run
        .warnings
        .iter()
        .map(|warning| warning.rule.as_str())
        .collect();
    assert_eq!(
        rules,
        ["repeated_tool_call_exact_input", "repeated_tool_call"]
    );
    let work = [v1::AgentWork {
        agent: "scout".into(),
        calls: 4,
        repeats: 3,
    }];
    assert_eq!(run.work, work);
    let warning = &run.warnings[0];
    assert_eq!(warning.severity(), v1::Severity::Warning);
    assert_eq!(warning.state(), v1::WarningState::Open);

    let (status, json) = eddy.get("/v1/runs/chat/1").await;
    assert_eq!(status, 200);
    assert_eq!(json["run_id"], "chat/1");
    assert_eq!(json["score"], 75);
    assert_eq!(json["work"][0]["repeats"], 3);
    assert_eq!(json["warnings"][0]["id"], warning.warning_id.as_str());
    assert_eq!(eddy.get("/v1/runs/chat%2F1").await.1, json);
}

/// A run that is not there is told from a question that is wrong, on both sides.
#[tokio::test]
async fn what_is_not_there_is_said() {
    let eddy = Fixture::start().await;
    let mut runs = eddy.runs().await;
    let request = |run_id: &str| v1::GetRunRequest {
        run_id: run_id.into(),
    };
    let missing = runs.get_run(request("nobody")).await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
    assert!(missing.message().contains("`nobody`"), "{missing}");
    let long = runs.get_run(request(&"ü".repeat(30_000))).await;
    let long = long.unwrap_err();
    assert_eq!(long.code(), Code::NotFound);
    assert!(long.message().len() < 512, "{long}");
    let watched = v1::WatchRunRequest {
        run_id: "nobody".into(),
    };
    assert_eq!(
        runs.watch_run(watched).await.unwrap_err().code(),
        Code::NotFound
    );
    let empty = runs.get_run(request("")).await.unwrap_err();
    assert_eq!(empty.code(), Code::InvalidArgument);

    let (status, json) = eddy.get("/v1/runs/nobody").await;
    assert_eq!(status, 404);
    assert!(json["error"].as_str().unwrap().contains("nobody"), "{json}");
    assert_eq!(eddy.get("/v1/nonsense").await.0, 404);
    assert_eq!(eddy.get("/nothing").await.0, 404);
}

/// Pages follow each other without a gap or a repeat, newest run first, on both sides.
#[tokio::test]
async fn runs_come_in_pages() {
    let eddy = Fixture::start().await;
    let mut expected = Vec::new();
    for number in 0..7 {
        let run_id = format!("run-{number}");
        eddy.report_loop(&run_id, "scout", 0..1).await;
        expected.insert(0, run_id);
        // Two runs that began in the same millisecond are ordered by id, which is another order.
        sleep(Duration::from_millis(2)).await;
    }

    let mut runs = eddy.runs().await;
    let mut listed = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = v1::ListRunsRequest {
            page_size: 3,
            page_token,
            filter: None,
        };
        let page = runs.list_runs(request).await.unwrap().into_inner();
        assert!(page.runs.len() <= 3);
        listed.extend(page.runs.into_iter().map(|run| run.run_id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(listed, expected);

    let (_, first) = eddy.get("/v1/runs?limit=5").await;
    let token = first["next_page_token"].as_str().unwrap();
    let (_, second) = eddy
        .get(&format!("/v1/runs?limit=5&page_token={token}"))
        .await;
    let pages = [
        first["runs"].as_array().unwrap(),
        second["runs"].as_array().unwrap(),
    ];
    let listed: Vec<&str> = pages
        .into_iter()
        .flatten()
        .map(|run| run["run_id"].as_str().unwrap())
        .collect();
    assert_eq!(listed, expected);
}

/// Each filter lets through what it names, and nothing else.
#[tokio::test]
async fn runs_are_filtered() {
    let eddy = Fixture::start().await;
    eddy.report_loop("calm", "scout", 0..1).await;
    eddy.report_loop("looping", "cook", 0..5).await;

    let mut runs = eddy.runs().await;
    let at = |seconds| prost_types::Timestamp { seconds, nanos: 0 };
    let filters = [
        (
            v1::RunFilter {
                agent: "cook".into(),
                ..v1::RunFilter::default()
            },
            vec!["looping"],
        ),
        (
            v1::RunFilter {
                agent: "coo".into(),
                ..v1::RunFilter::default()
            },
            vec![],
        ),
        (
            v1::RunFilter {
                statuses: vec![v1::RunStatus::Healthy.into()],
                ..v1::RunFilter::default()
            },
            vec!["calm"],
        ),
        (
            v1::RunFilter {
                last_seen_after: Some(at(1_700_000_002)),
                ..v1::RunFilter::default()
            },
            vec!["looping"],
        ),
        (
            v1::RunFilter {
                last_seen_before: Some(at(1_700_000_002)),
                ..v1::RunFilter::default()
            },
            vec!["calm"],
        ),
    ];
    for (filter, expected) in filters {
        let request = v1::ListRunsRequest {
            filter: Some(filter.clone()),
            ..v1::ListRunsRequest::default()
        };
        let page = runs.list_runs(request).await.unwrap().into_inner();
        let listed: Vec<String> = page.runs.into_iter().map(|run| run.run_id).collect();
        assert_eq!(listed, expected, "{filter:?}");
    }

    for (query, expected) in [
        ("agent=cook", "looping"),
        ("status=healthy", "calm"),
        ("status=warning,likely_stuck", "looping"),
    ] {
        let (_, json) = eddy.get(&format!("/v1/runs?{query}")).await;
        let listed = json["runs"].as_array().unwrap();
        assert_eq!(listed.len(), 1, "{query}");
        assert_eq!(listed[0]["run_id"], expected, "{query}");
    }
}

/// A question over gRPC that is wrong is refused with the name of the field at fault, in words and as a detail.
#[tokio::test]
async fn wrong_questions_are_refused_by_field() {
    let eddy = Fixture::start().await;
    let list = v1::ListRunsRequest::default;
    let of_status = |number| v1::ListRunsRequest {
        filter: Some(v1::RunFilter {
            statuses: vec![number],
            ..v1::RunFilter::default()
        }),
        ..list()
    };
    let negative = v1::ListRunsRequest {
        page_size: -1,
        ..list()
    };
    let nonsense = v1::ListRunsRequest {
        page_token: "nonsense".into(),
        ..list()
    };
    for (field, request) in [
        ("page_size", negative),
        ("page_token", nonsense),
        ("filter.statuses", of_status(0)),
        ("filter.statuses", of_status(99)),
    ] {
        let refusal = eddy.runs().await.list_runs(request).await.unwrap_err();
        assert_eq!(refusal.code(), Code::InvalidArgument, "{field}");
        assert!(refusal.message().starts_with(field), "{refusal}");
        let details = refusal.get_details_bad_request().unwrap();
        assert_eq!(details.field_violations[0].field, field);
    }
    for token in ["nonsense", "6e6f6e73656e7365"] {
        let request = v1::ListWarningsRequest {
            page_token: token.into(),
            ..v1::ListWarningsRequest::default()
        };
        let refused = eddy.warnings().await.list_warnings(request).await;
        assert_eq!(
            refused.unwrap_err().code(),
            Code::InvalidArgument,
            "{token}"
        );
    }
}

/// A question over HTTP that is wrong is refused with the name of the parameter at fault before the colon.
#[tokio::test]
async fn wrong_parameters_are_named() {
    let eddy = Fixture::start().await;
    eddy.report_loop("r", "scout", 0..1).await;
    for (path, parameter) in [
        ("/v1/runs?limit=-1", "limit"),
        ("/v1/runs?limit=many", "limit"),
        ("/v1/runs?limit=1&limit=2", "limit"),
        ("/v1/runs/r?x=1", "x"),
        ("/v1/guard/totals?x=1", "x"),
        ("/v1/warnings/0123456789abcdef", "run_id"),
        ("/v1/alerts?cursor=999", "cursor"),
        ("/v1/runs?page_token=nonsense", "page_token"),
        ("/v1/runs/%ff", "run_id"),
        ("/v1/warnings/%ff?run_id=a", "warning"),
        ("/v1/runs?agent=%ff", "agent"),
        ("/v1/runs?agent=%e2%82x&limit=1", "agent"),
        ("/v1/warnings/0123456789abcdef?run_id=r%80", "run_id"),
        ("/v1/alerts?run_id=%ff", "run_id"),
        ("/v1/runs?status=sick", "status"),
        ("/v1/runs?staus=healthy", "staus"),
        ("/v1/alerts?cursor=first", "cursor"),
        ("/v1/alerts?min_severity=loud", "min_severity"),
        ("/v1/warnings/nonsense?run_id=r", "warning"),
    ] {
        let (status, json) = eddy.get(path).await;
        let (named, problem) = json["error"].as_str().unwrap().split_once(": ").unwrap();
        assert_eq!((status, named), (400, parameter), "{path}: {json}");
        assert!(!problem.contains("field"), "{path}: {json}");
    }
    for (path, expected) in [
        (
            "/v1/runs?foo=1",
            "foo: unknown parameter; known here: `limit`, `page_token`, `status`, `agent`",
        ),
        (
            "/v1/warnings/0123456789abcdef?foo=1",
            "foo: unknown parameter; known here: `run_id`",
        ),
        (
            "/v1/runs/r?foo=1",
            "foo: unknown parameter; there are none here",
        ),
    ] {
        let (_, json) = eddy.get(path).await;
        assert_eq!(json["error"], expected);
    }
    let (_, json) = eddy.get("/v1/runs?agent=sc%6fut").await;
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(1), "{json}");
    for agent in ["%c3%a9%", "%zz", "100%"] {
        let (status, json) = eddy.get(&format!("/v1/runs?agent={agent}")).await;
        assert_eq!((status, &json["runs"]), (200, &serde_json::json!([])));
    }
}

/// A page size above the limit is taken as the limit, not refused.
#[tokio::test]
async fn large_pages_are_capped() {
    let eddy = Fixture::start().await;
    let request = v1::ListRunsRequest {
        page_size: i32::MAX,
        ..v1::ListRunsRequest::default()
    };
    let page = eddy.runs().await.list_runs(request).await.unwrap();
    assert_eq!(page.into_inner().next_page_token, "");
    assert_eq!(eddy.get("/v1/runs?limit=1000000").await.0, 200);
    assert_eq!(eddy.get("/v1/runs?limit=99999999999999999999").await.0, 200);
}

/// A watch gives the run as it is, then as it becomes, and ends when Eddy stops.
#[tokio::test]
async fn a_watch_follows_its_run() {
    let eddy = Fixture::start().await;
    eddy.report_loop("watched", "scout", 0..1).await;
    let request = v1::WatchRunRequest {
        run_id: "watched".into(),
    };
    let mut runs = eddy.runs().await;
    let mut changes = runs.watch_run(request).await.unwrap().into_inner();
    let first = changes.message().await.unwrap().unwrap().run.unwrap();
    assert_eq!(first.tool_calls, 1);

    eddy.report_loop("watched", "scout", 1..4).await;
    loop {
        let change = timeout(PATIENCE, changes.message()).await.unwrap();
        let run = change.unwrap().unwrap().run.unwrap();
        if run.tool_calls == 4 {
            assert_eq!(run.warnings.len(), 2);
            break;
        }
    }
    eddy.shutdown.cancel();
    let end = timeout(PATIENCE, changes.message()).await.unwrap();
    assert_eq!(end.unwrap(), None);
}

/// Warnings of all runs come in pages, one run or all, filtered by state and severity.
#[tokio::test]
async fn warnings_are_listed() {
    let eddy = Fixture::start().await;
    eddy.report_loop("calm", "scout", 0..1).await;
    for run_id in ["bad-1", "bad-2", "worst"] {
        let calls = if run_id == "worst" { 8 } else { 4 };
        eddy.report_loop(run_id, "scout", 0..calls).await;
        sleep(Duration::from_millis(2)).await;
    }
    let all = v1::ListWarningsRequest::default;
    let by_run = ["worst", "worst", "bad-2", "bad-2", "bad-1", "bad-1"];
    assert_eq!(list_warnings(&eddy, all()).await, by_run);
    let open = v1::ListWarningsRequest {
        open_only: true,
        ..all()
    };
    assert_eq!(list_warnings(&eddy, open).await, by_run);
    let one = v1::ListWarningsRequest {
        run_id: "bad-1".into(),
        ..all()
    };
    assert_eq!(list_warnings(&eddy, one).await, ["bad-1", "bad-1"]);
    for (severity, expected) in [
        (v1::Severity::Info, &by_run[..]),
        (v1::Severity::Warning, &["worst", "bad-2", "bad-1"]),
        (v1::Severity::Critical, &["worst"]),
    ] {
        let grave = v1::ListWarningsRequest {
            min_severity: severity.into(),
            ..all()
        };
        assert_eq!(list_warnings(&eddy, grave).await, expected);
    }
    let nobody = v1::ListWarningsRequest {
        run_id: "nobody".into(),
        ..all()
    };
    let missing = eddy.warnings().await.list_warnings(nobody).await;
    assert_eq!(missing.unwrap_err().code(), Code::NotFound);
}

/// Given questions to the guard without end, a listing asks a shard for many runs at a time, and not once for each: what it shows
/// of them is committed by a few turns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listing_of_warnings_costs_few_turns() {
    const RUNS: u64 = 300;
    let eddy = Fixture::start().await;
    let reports = (0..RUNS).map(|number| {
        let run_id = format!("run {number}");
        Report {
            events: vec![tool_call(&run_id, "scout", 0)],
            run: RunRef {
                run_id: Some(run_id.into()),
                ..RunRef::default()
            },
        }
    });
    let submitted = eddy.shards.submit(reports.collect(), eddy.shards.policy());
    submitted.await.unwrap();
    let shards = eddy.shards.clone();
    let asking = tokio::spawn(async move {
        let who = GuardContext {
            run_id: "asked",
            ..GuardContext::default()
        };
        loop {
            shards.check(&who, &GuardedCall::default()).await;
            // Without shards, which may leave first, an answer waits for nothing, and nothing would end this.
            tokio::task::yield_now().await;
        }
    });
    let mut client = eddy.warnings().await;
    let turns = || eddy.shards.counters().turns.value();
    let before = turns();
    let request = v1::ListWarningsRequest::default();
    client.list_warnings(request).await.unwrap();
    let taken = turns() - before;
    asking.abort();
    assert!(taken < RUNS / 2, "{taken} turns");
}

/// The runs of the warnings of a listing, in the order in which they are given. Whatever the size of the pages, it is
/// the same warnings, and each once.
async fn list_warnings(eddy: &Fixture, request: v1::ListWarningsRequest) -> Vec<String> {
    let whole = list_in_pages(eddy, request.clone(), 1_000).await;
    for size in 1..=4 {
        assert_eq!(list_in_pages(eddy, request.clone(), size).await, whole);
    }
    let ids: BTreeSet<&String> = whole.iter().map(|(_, id)| id).collect();
    assert_eq!(ids.len(), whole.len());
    whole.into_iter().map(|(run_id, _)| run_id).collect()
}

async fn list_in_pages(
    eddy: &Fixture,
    mut request: v1::ListWarningsRequest,
    size: i32,
) -> Vec<(String, String)> {
    let mut client = eddy.warnings().await;
    let mut listed = Vec::new();
    request.page_size = size;
    loop {
        let page = client
            .list_warnings(request.clone())
            .await
            .unwrap()
            .into_inner();
        assert!(page.warnings.len() <= size as usize);
        listed.extend(page.warnings.into_iter().map(|of_run| {
            let warning = of_run.warning.unwrap();
            (of_run.run_id, warning.warning_id)
        }));
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            return listed;
        }
    }
}

/// Given a run that begins between two pages, the warnings of the one that was half given go on where they stopped, and come
/// once.
#[tokio::test]
async fn warnings_come_in_pages() {
    let eddy = Fixture::start().await;
    eddy.report_loop("older", "scout", 0..3).await;
    sleep(Duration::from_millis(2)).await;
    eddy.report_loop("newer", "scout", 0..3).await;
    let mut client = eddy.warnings().await;
    let (mut listed, mut page_token) = (Vec::new(), String::new());
    for number in 0.. {
        let request = v1::ListWarningsRequest {
            page_size: 1,
            page_token,
            ..v1::ListWarningsRequest::default()
        };
        let page = client.list_warnings(request).await.unwrap().into_inner();
        let warnings = page.warnings.into_iter();
        listed
            .extend(warnings.map(|warning| (warning.run_id, warning.warning.unwrap().warning_id)));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
        sleep(Duration::from_millis(2)).await;
        let run_id = format!("begun after page {number}");
        eddy.report_loop(&run_id, "scout", 0..3).await;
    }
    let runs: Vec<&str> = listed.iter().map(|(run_id, _)| run_id.as_str()).collect();
    assert_eq!(runs, ["newer", "newer", "older", "older"]);
    listed.sort();
    listed.dedup();
    assert_eq!(listed.len(), 4, "{listed:?}");
}

/// Given an id that is longer than those that are kept, the run is found under it, watched, and its alerts are told of.
#[tokio::test]
async fn long_ids_name_their_run() {
    let eddy = Fixture::start().await;
    let run_id = "long".repeat(75);
    eddy.report_loop(&run_id, "scout", 0..3).await;
    let mut runs = eddy.runs().await;
    let request = v1::WatchRunRequest {
        run_id: run_id.clone(),
    };
    let mut changes = runs.watch_run(request).await.unwrap().into_inner();
    let run = timeout(PATIENCE, changes.message()).await.unwrap();
    let run = run.unwrap().unwrap().run.unwrap();
    assert_eq!((run.tool_calls, run.run_id.len()), (3, 256));
    let request = v1::TailAlertsRequest {
        after_cursor: Some(0),
        run_id,
        ..v1::TailAlertsRequest::default()
    };
    let mut alerts = eddy.tail(request).await;
    assert!(timeout(PATIENCE, alerts.message()).await.unwrap().is_ok());
}
