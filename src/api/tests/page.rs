//! The page for people, as far as that can be seen without a browser.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Fixture, Options, Settings};

/// What a page may read that is not in every answer.
const AT_TIMES: [&str; 3] = ["verdict", "verdict_observed", "next_page_token"];

/// The members of a value that a script reads under a name.
fn read<'s>(script: &'s str, name: &str) -> BTreeSet<&'s str> {
    let is_of_name = |text: char| text.is_alphanumeric() || text == '_';
    let dotted = format!("{name}.");
    let places = script.match_indices(&dotted);
    let whole = places.filter(|(at, _)| !script[..*at].ends_with(is_of_name));
    let members = whole.map(|(at, _)| {
        let rest = &script[at + dotted.len()..];
        rest.split(|text| !is_of_name(text))
            .next()
            .unwrap_or_default()
    });
    members.collect()
}

/// Given the parts of the list that the page leads to, the API knows each.
#[tokio::test]
async fn the_page_names_statuses_that_there_are() {
    let eddy = Fixture::start().await;
    let (_, script) = eddy.get_text("/page.js").await;
    let (_, rest) = script.split_once("STATUSES = [").expect("a list");
    let (names, _) = rest.split_once(']').expect("its end");
    let names: Vec<&str> = names
        .split(", ")
        .map(|name| name.trim_matches('"'))
        .collect();
    assert_eq!(names.len(), 5);
    for name in names {
        let (code, answer) = eddy.get(&format!("/v1/runs?status={name}")).await;
        assert_eq!(code, 200, "{name}: {answer}");
    }
}

/// Given the page's script, it asks for what there is and hears alerts, and whatever it reads of an answer is in it.
#[tokio::test]
async fn the_page_reads_what_there_is() {
    let settings = Settings {
        show_arguments: true,
        ..Settings::default()
    };
    let eddy = Fixture::start_with(&Options::default(), settings).await;
    eddy.report_loop("a/run", "scout", 0..4).await;
    let (_, script) = eddy.get_text("/page.js").await;
    let is_comment = |line: &&str| line.trim_start().starts_with('/');
    let script: String = script
        .split('\n')
        .filter(|line| !is_comment(line))
        .collect();
    for asked in [
        "`v1/runs?$",
        // Those that need somebody, on their own.
        "`v1/runs?status=likely_stuck&limit=$",
        // Where none of many runs passes the filter.
        "parameters.set(\"page_token\", page.next_page_token)",
        "`v1/runs/$",
        "`v1/warnings/$",
        "\"v1/alerts\"",
        "\"readyz\"",
    ] {
        assert!(script.contains(asked), "{asked}");
    }
    let (_, page) = eddy
        .get("/v1/runs?limit=50&status=&agent=&page_token=")
        .await;
    let (_, run) = eddy.get("/v1/runs/a/run").await;
    let warning = run["warnings"][0].clone();
    let id = warning["id"].as_str().expect("an id");
    let (_, why) = eddy.get(&format!("/v1/warnings/{id}?run_id=a%2Frun")).await;
    let mut alerts = eddy.events("/v1/alerts?cursor=0", "").await;
    let alert = alerts.next().await.expect("an alert").data;
    let alert: Value = serde_json::from_str(&alert).expect("JSON");
    for (name, given) in [
        ("page", &page),
        ("run", &run),
        ("work", &run["work"][0]),
        ("warning", &warning),
        ("why", &why),
        ("call", &why["events"][0]),
        ("way", &why["silence"][0]),
        ("alert", &alert),
    ] {
        let read = read(&script, name);
        assert!(!read.is_empty(), "{name}");
        for member in read {
            let is_there = given.get(member).is_some() || AT_TIMES.contains(&member);
            assert!(is_there, "{name}.{member}: {given}");
        }
    }
}
