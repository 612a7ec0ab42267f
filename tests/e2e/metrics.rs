//! The page of metrics, as a scraper reads it: well formed, true, without anybody's names in it, and described in the manual.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::kill::calls;
use super::support::{Daemon, Export, Sender, free_port, http_client, recordings, runtime, until};

/// A family: its kind, its help, and the values by their labels.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    help: String,
    samples: BTreeMap<String, f64>,
}

/// Reads a page as strictly as Prometheus's own parser, and holds it to the rules of names.
fn parsed(page: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut help = None;
    let mut current = String::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name and a kind");
            let (helped, help) = help.take().expect("a help before");
            assert_eq!(helped, name);
            assert!(name.starts_with("eddy_"), "{name}");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            let family = Family {
                kind: kind.to_owned(),
                help: help.to_owned(),
                samples: BTreeMap::new(),
            };
            name.clone_into(&mut current);
            assert!(families.insert(current.clone(), family).is_none(), "{line}");
        } else {
            let (series, value) = line.rsplit_once(' ').expect("a series and a value");
            let (name, labels) = series.split_at(series.find('{').unwrap_or(series.len()));
            assert_eq!(name, current, "{line}");
            assert!(labels.is_empty() || labels.ends_with('}'), "{line}");
            let family = families.get_mut(name).expect("a family");
            let value: f64 = value.parse().expect("a number");
            assert!(family.samples.insert(labels.to_owned(), value).is_none());
        }
    }
    families
}

async fn scraped(daemon: &Daemon, token: &str) -> (u16, String, String) {
    let asked = http_client()
        .get(format!("http://{}/metrics", daemon.api))
        .header("authorization", format!("Bearer {token}"));
    let answer = asked.send().await.expect("it answers");
    let kind = answer.headers().get("content-type").cloned();
    let kind = kind.map_or(String::new(), |kind| {
        kind.to_str().expect("text").to_owned()
    });
    let code = answer.status().as_u16();
    (code, kind, answer.text().await.expect("a whole page"))
}

fn value(page: &BTreeMap<String, Family>, name: &str, labels: &str) -> u64 {
    let family = page.get(name).unwrap_or_else(|| panic!("no {name}"));
    let value = family.samples.get(labels);
    let value = value.unwrap_or_else(|| panic!("no {name}{labels}: {:?}", family.samples));
    *value as u64
}

/// Given a recorded loop and a request of which nothing can be used, the numbers say so; no label is anything that telemetry
/// named; and every family stands in the manual with its help (`EDDY_WRITE_DOCS=1` writes it).
#[test]
fn the_page_is_true_and_bounded() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("eddy.yaml");
    let text = format!(
        "exporters:\n  file: {{path: {}}}\n  otlp_forward/away: {{endpoint: \"http://{}\"}}\n",
        directory.path().join("alerts.jsonl").display(),
        free_port()
    );
    fs::write(&config, text).expect("it can be written");
    let config = config.to_string_lossy().into_owned();
    let data = directory.path().join("data");
    let daemon = Daemon::start_with(&data, free_port(), &["--config", &config]);
    let recordings = recordings();
    let loops = |name: &str| name == "langgraph-openinference-exact-loop";
    let recording = recordings.iter().find(|recording| loops(&recording.name));
    let requests = recording.expect("a recorded loop").requests();
    let spans: usize = requests.iter().map(spans_of).sum();
    runtime().block_on(async {
        Sender::new(daemon.grpc).send_all(&requests).await;
        let nonsense = http_client()
            .post(format!("http://{}/v1/traces", daemon.http))
            .header("content-type", "application/x-protobuf")
            .body("nonsense");
        assert_eq!(nonsense.send().await.expect("it answers").status(), 400);
        let page = until(async || {
            let (code, kind, text) = scraped(&daemon, "").await;
            assert_eq!(code, 200, "{text}");
            assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
            for run in daemon.runs().keys() {
                assert!(!text.contains(run.as_str()), "{run} is a label");
            }
            let page = parsed(&text);
            let labels = "{exporter=\"file\",kind=\"file\"}";
            (value(&page, "eddy_exporter_queue_size", labels) == 0).then_some(page)
        })
        .await;
        let accepted = value(&page, "eddy_receiver_accepted_spans_total", "");
        assert_eq!(accepted, spans as u64);
        let invalid = "{outcome=\"invalid\"}";
        assert_eq!(value(&page, "eddy_receiver_requests_total", invalid), 1);
        let raised =
            "{rule=\"repeated_tool_call_exact_input\",severity=\"warning\",change=\"raised\"}";
        assert_eq!(value(&page, "eddy_engine_warnings_total", raised), 1);
        let none = "{rule=\"retry_storm\",severity=\"critical\",change=\"raised\"}";
        assert_eq!(value(&page, "eddy_engine_warnings_total", none), 0);
        let sent = "{exporter=\"file\",kind=\"file\"}";
        assert!(value(&page, "eddy_exporter_sent_alerts_total", sent) >= 1);
        assert_eq!(value(&page, "eddy_ready", ""), 1);
        assert_eq!(value(&page, "eddy_runs", ""), 1);
        assert_eq!(value(&page, "eddy_shard_resident_runs", ""), 1);
        assert!(value(&page, "eddy_store_commits_total", "") >= 1);
        let waiting = "{exporter=\"otlp_forward/away\"}";
        assert!(value(&page, "eddy_forward_queue_size", waiting) >= 1);
        the_manual_lists(&page);
        the_rules_ask_for(&page);
    });
}

fn spans_of(request: &Export) -> usize {
    let Export::Traces(request) = request else {
        return 0;
    };
    let resources = request.resource_spans.iter();
    let scopes = resources.flat_map(|resource| &resource.scope_spans);
    scopes.map(|scope| scope.spans.len()).sum()
}

/// Given a token of a tenant, the page shows that tenant's numbers and nothing else; without a token there is none.
#[test]
fn a_tenant_sees_its_own_numbers() {
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = super::tenants::start(directory.path());
    runtime().block_on(async {
        super::tenants::send(&daemon, "blue", calls(1, 0, 3)).await;
        super::tenants::send(&daemon, "red", calls(2, 0, 3)).await;
        let (code, _, blue) = scraped(&daemon, "blue-api").await;
        assert_eq!(code, 200);
        assert!(blue.contains("eddy_runs{tenant=\"blue\"} 1\n"), "{blue}");
        assert!(
            !blue.contains("\"red\"") && !blue.contains("eddy_process"),
            "{blue}"
        );
        let (_, _, own) = scraped(&daemon, "own-api").await;
        for line in ["eddy_runs{tenant=\"red\"} 1\n", "eddy_runs 0\n"] {
            assert!(own.contains(line), "{own}");
        }
        assert_eq!(scraped(&daemon, "blue-in").await.0, 401);
    });
}

/// Every number that an alert of `config/alerts.yaml` asks for is on the page, with each label that it names.
fn the_rules_ask_for(page: &BTreeMap<String, Family>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/alerts.yaml");
    let rules = fs::read_to_string(path).expect("the rules are there");
    let is_rule = |line: &&str| line.trim_start().starts_with("expr: ");
    let mut asked = 0;
    for rule in rules.lines().filter(is_rule) {
        for (start, _) in rule.match_indices("eddy_") {
            let rest = &rule[start..];
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let end = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
            let family = page.get(&rest[..end]);
            let family = family.unwrap_or_else(|| panic!("{rule}: no {}", &rest[..end]));
            let selector = rest[end..].strip_prefix('{');
            let selector = selector.and_then(|rest| rest.split('}').next());
            let matchers = selector
                .into_iter()
                .flat_map(|selector| selector.split(','));
            for (label, _) in matchers.filter_map(|one| one.split_once(['=', '!'])) {
                let known = family
                    .samples
                    .keys()
                    .any(|labels| labels.contains(&format!("{label}=")));
                assert!(known, "{rule}: no label {label}");
            }
            asked += 1;
        }
    }
    assert!(asked > 10, "{asked} numbers are asked for");
}

fn the_manual_lists(page: &BTreeMap<String, Family>) {
    const BEGIN: &str = "<!-- the families -->\n";
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    let manual = fs::read_to_string(&path).expect("the manual is there");
    let (before, listed) = manual.split_once(BEGIN).expect("a place for the families");
    let mut expected = "\n| name | kind | labels | meaning |\n|---|---|---|---|\n".to_owned();
    for (name, family) in page {
        let labels = family.samples.keys().flat_map(|labels| {
            let labels = labels.trim_matches(['{', '}']).split(',');
            labels.filter_map(|label| Some(label.split_once('=')?.0.to_owned()))
        });
        let labels: BTreeSet<String> = labels.collect();
        let labels = Vec::from_iter(labels).join(", ");
        let (kind, help) = (&family.kind, &family.help);
        let _ = writeln!(expected, "| `{name}` | {kind} | {labels} | {help} |");
    }
    if std::env::var_os("EDDY_WRITE_DOCS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{expected}")).expect("it can be written");
        return;
    }
    assert_eq!(listed, expected, "EDDY_WRITE_DOCS=1 writes docs/metrics.md");
}
