//! The configuration as its writers meet it: the reference, good files, bad files and what is said about them.

mod guard;
mod mistakes;

use std::net::{IpAddr, UdpSocket};
use std::slice;

use super::*;
use crate::engine::guard::policy::{GuardPolicy, Mode};
use crate::export::Kind;
use crate::secret::Secret;
use mistakes::check;

fn lookup(name: &str) -> Option<String> {
    match name {
        "PORT" => Some("5317".to_owned()),
        "TOKEN" => Some("12345".to_owned()),
        "MIB" => Some("32".to_owned()),
        "EMPTY" => Some(String::new()),
        "HOME" => Some("/home/ada".to_owned()),
        _ => None,
    }
}

fn loaded(text: &str) -> Result<Loaded, Mistakes> {
    load_text(text, "eddy.yaml", &[], &[], &lookup)
}

fn settings(text: &str) -> Settings {
    loaded(text)
        .unwrap_or_else(|mistakes| panic!("{mistakes}"))
        .settings
}

fn shape(text: &str) -> shape::Shape {
    let mut mistakes = Mistakes::default();
    let mut tree = tree::Node::parse(text, "reference.yaml", &mut mistakes);
    environment::substitute(&mut tree, "", &lookup, &mut mistakes);
    profile::take_changes(&mut tree);
    tree.take(&["guard"]);
    tree.take(&others::PATH);
    let shape = read::read(&tree, None, &[], &mut mistakes);
    assert_eq!(mistakes.to_string(), "");
    shape.unwrap()
}

/// The paths of every key of a JSON value.
fn json_paths(value: &serde_json::Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        paths.insert(key.clone());
        paths.extend(json_paths(value).iter().map(|path| format!("{key}.{path}")));
    }
    paths
}

/// Given the reference as it stands, it says exactly what the daemon does without a file.
#[test]
fn the_reference_is_the_defaults() {
    let reference = serde_json::to_value(shape(REFERENCE)).unwrap();
    assert_eq!(
        reference,
        serde_json::to_value(shape::Shape::default()).unwrap()
    );
}

/// Given the reference with its examples switched on, every key in it exists and every key that exists is in it.
#[test]
fn the_reference_names_every_key() {
    let text = uncommented(REFERENCE);
    let tree = tree::Node::parse(&text, "reference.yaml", &mut Mistakes::default());
    let mut named = tree.paths();
    let apart = ["detectors.rules", "detectors.profiles", "tools"];
    named.retain(|path| !apart.iter().any(|section| path.starts_with(section)));
    let mut exists = json_paths(&serde_json::to_value(shape(&text)).unwrap());
    let guard = serde_json::to_value(GuardPolicy::default()).unwrap();
    exists.extend(json_paths(&serde_json::json!({ "guard": guard })));
    assert_eq!(named, exists);
}

/// Given the examples of the reference without files that are not there and with certificates that are, they are a
/// configuration.
#[test]
fn the_examples_of_the_reference_work() {
    let mut text = String::new();
    for line in uncommented(REFERENCE).lines() {
        let is_file = ["token_file:", "prices_file:"]
            .iter()
            .any(|key| line.trim_start().starts_with(key));
        if !is_file {
            let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls");
            let line = line.replace("/etc/eddy/client-ca.crt", &format!("{tests}/ca.crt"));
            let line = line.replace("/etc/eddy/upstream-ca.crt", &format!("{tests}/ca.crt"));
            let line = line.replace("/etc/eddy/tls", &format!("{tests}/server"));
            let line = line.replace("/etc/eddy/eddy", &format!("{tests}/client"));
            let line = line.replace("/var/log/eddy", tests);
            text.push_str(&line);
            text.push('\n');
        }
    }
    let settings = settings(&text);
    assert_eq!(settings.exporters.len(), 5);
    assert_eq!(settings.forwards.len(), 1);
    assert_eq!(settings.policy.rules.repeated_tool_call, None);
    assert_eq!(
        settings
            .policy
            .rules
            .long_running_step
            .as_ref()
            .unwrap()
            .seconds,
        120
    );
    let budget = settings.policy.rules.cost_budget_exceeded.as_ref().unwrap();
    assert_eq!(budget.budget_usd, Some(5.0));
}

/// Given how many calls a run recovers by, that is taken in the place of the profile's, and printed.
#[test]
fn a_run_recovers_as_it_is_set() {
    let of = |text: &str| settings(text).policy.recovery_calls;
    assert_eq!(of(""), Some(10));
    assert_eq!(of("detectors: {recovery_calls: 5}"), Some(5));
    assert_eq!(of("detectors: {profile: looplens}"), None);
    check(
        "detectors:\n  recovery_calls: 0",
        &["2:3: detectors.recovery_calls: must be at least 1"],
    );
}

/// Given nothing at all, the daemon listens on loopback, writes to the terminal and keeps its state in the home directory.
#[test]
fn nothing_is_a_configuration() {
    for text in [
        "",
        "# only a comment\n",
        "receivers:\nservice:\nexporters:\n",
        "---\n",
    ] {
        let settings = settings(text);
        assert_eq!(settings.otlp_grpc.to_string(), "127.0.0.1:4317");
        assert_eq!(settings.otlp_http, "127.0.0.1:4318".parse().ok());
        assert_eq!(settings.data_dir, Path::new("/home/ada/.local/state/eddy"));
        assert_eq!(settings.exporters.len(), 1);
        assert_eq!(*settings.policy, profile::Name::Standard.policy());
    }
}

/// Given several directories of a service, its state is in the first of them.
#[test]
fn the_first_directory_of_a_service_is_its_own() {
    let of_service = |name: &str| {
        let dirs = "/var/lib/eddy:/var/lib/other".to_owned();
        (name == "STATE_DIRECTORY").then_some(dirs)
    };
    let loaded = load_text("", "eddy.yaml", &[], &[], &of_service).unwrap();
    assert_eq!(loaded.settings.data_dir, Path::new("/var/lib/eddy"));
    let nothing = load_text("", "eddy.yaml", &[], &[], &|_| None).unwrap();
    assert_eq!(nothing.settings.data_dir, Path::new("eddy-data"));
}

/// Given variables, they take the type that is asked for, and defaults stand in for missing and empty ones.
#[test]
fn variables_are_put_in() {
    let settings = settings(
        "receivers: {otlp: {protocols: {grpc: {endpoint: 'localhost:${env:PORT}', max_recv_msg_size_mib: '${env:MIB}'}}}}\n\
         exporters: {webhook/a: {url: 'https://x/${env:NONE:-y}$${z}', token: '${env:TOKEN}', allow_private: '${env:EMPTY:-true}'}}\n",
    );
    assert_eq!(settings.otlp_grpc.to_string(), "127.0.0.1:5317");
    assert_eq!(settings.otlp_grpc_bytes_max, 32 << 20);
    let Kind::Webhook(webhook) = &settings.exporters[0].kind else {
        panic!("not a webhook");
    };
    assert_eq!(webhook.url, "https://x/y${z}");
    assert_eq!(webhook.bearer_token, Some(Secret::from("12345".to_owned())));
    assert!(webhook.allow_private);
}

/// Given flags, they win over the file, and a mistake in one names the flag.
#[test]
fn flags_win_and_are_named() {
    let flag = |value: &str| Flag {
        name: "--api",
        path: &["service", "api", "endpoint"],
        value: value.to_owned(),
    };
    let file = "service: {api: {endpoint: '127.0.0.1:1'}}";
    let loaded = load_text(file, "eddy.yaml", &[flag("127.0.0.1:2")], &[], &lookup).unwrap();
    assert_eq!(loaded.settings.api.port(), 2);
    let mistakes = load_text(file, "eddy.yaml", &[flag("nowhere")], &[], &lookup).unwrap_err();
    assert_eq!(
        mistakes.to_string(),
        "--api: service.api.endpoint: expected an address and port such as `127.0.0.1:4317`, found `nowhere`"
    );
}

/// Given a file that has something else where a flag's section belongs, it is refused as it is without the flag; a section left
/// empty is made.
#[test]
fn flags_hide_no_mistakes() {
    let flag = Flag {
        name: "--api",
        path: &["service", "api", "endpoint"],
        value: "127.0.0.1:2".to_owned(),
    };
    for file in [
        "hello",
        "- a",
        "service: 5",
        "service:\n- api: {endpoint: '127.0.0.1:1'}",
        "service: {api: 4319}",
        "service: {log: 5}",
    ] {
        let without = load_text(file, "eddy.yaml", &[], &[], &lookup).unwrap_err();
        let with = load_text(file, "eddy.yaml", slice::from_ref(&flag), &[], &lookup).unwrap_err();
        assert_eq!(with.to_string(), without.to_string(), "{file}");
    }
    let profile = Flag {
        name: "--profile",
        path: &["detectors", "profile"],
        value: "looplens".to_owned(),
    };
    for file in ["detectors: standard", "- list", "detectors: [standard]"] {
        load_text(file, "eddy.yaml", slice::from_ref(&profile), &[], &lookup).unwrap_err();
    }
    for file in ["", "service:", "service: {api: }"] {
        let loaded = load_text(file, "eddy.yaml", slice::from_ref(&flag), &[], &lookup).unwrap();
        assert_eq!(loaded.settings.api.port(), 2, "{file}");
    }
}

/// Given an address that others can reach, a token is enough to let it stand, and so is saying that it shall.
#[test]
fn guarded_addresses_may_be_reached() {
    let guarded = settings(
        "service: {api: {endpoint: '0.0.0.0:4319', auth: {tokens: [{token: hunter2}]}}}\n",
    );
    assert!(guarded.api_access.authenticates() && !guarded.otlp_http_access.authenticates());
    settings("service: {allow_insecure: true, api: {endpoint: '0.0.0.0:4319'}}");
    // Nobody listens there.
    settings(
        "receivers: {otlp: {protocols: {http: {enabled: false, endpoint: '0.0.0.0:4318', \
         tls: {cert_file: /nowhere, key_file: /nowhere}}}}}",
    );
}

/// Given changes to rules, the other numbers of the profile stay.
#[test]
fn rules_are_laid_over_the_profile() {
    let settings = settings(
        "detectors:\n  profile: looplens\n  rules:\n    no_progress: {calls: 5}\n    cost_spike: off\n    retry_storm:\n",
    );
    let rules = &settings.policy.rules;
    let no_progress = rules.no_progress.as_ref().unwrap();
    assert_eq!((no_progress.calls, no_progress.alarm.penalty), (5, 30));
    assert!(rules.cost_spike.is_none() && rules.retry_storm.is_some());
}

/// Given settings of tools, a misspelt one is named with the nearest right one, and each that exists is in the reference.
#[test]
fn settings_of_tools_are_known() {
    check(
        "tools:\n  web_search: {limt: 3}",
        &["2:16: tools.web_search.limt: unknown key; did you mean `limit`?"],
    );
    check(
        "tools:\n  web_search: {limit: few}",
        &[
            "2:16: tools.web_search.limit: expected a whole number from 0 to 4294967295, found `few`",
        ],
    );
    check(
        "tool: {}",
        &["1:1: tool: unknown key; did you mean `tools`?"],
    );
    let reference = uncommented(REFERENCE);
    let (_, section) = reference.split_once("\ntools:").unwrap();
    let tools = &settings(&format!("tools:{section}")).policy.tools;
    let named = |key: &str| {
        let entries = tools
            .0
            .values()
            .map(|tool| serde_json::to_value(tool).unwrap());
        entries.into_iter().any(|entry| entry.get(key).is_some())
    };
    for key in [
        "exempt",
        "limit",
        "polling_seconds",
        "primary_arguments",
        "volatile_fields",
        "search",
        "shell",
        "test_commands",
        "empty_phrases",
        "payload_fields",
    ] {
        assert!(named(key), "{key}");
    }
}

/// Given an effective configuration that is printed, secrets are masked, and reading it again with them gives the same policy.
#[test]
fn what_is_printed_can_be_read_and_hides_secrets() {
    let text = "service: {api: {auth: {tokens: [{token: hunter2}]}}}\nexporters:\n  webhook: {url: 'https://x', token: hunter2}\n  otlp_logs: {endpoint: 'http://y', headers: {k: hunter2}}\n  otlp_forward: {endpoint: 'http://z', headers: {k: hunter2}}\n\
                detectors: {rules: {cost_spike: off, no_progress: {calls: 7}}}\ntools: {'*@a': {exempt: true, limit: 3}}\nguard: {mode: observe, actions: []}\n";
    let others = "profiles: {'*@b': {profile: automatos, rules: {tool_limit: off}, tools: {x: {limit: 9}}}, 'web.*': {profile: agent-runtime, guard: {mode: enforce}}}";
    let text = text.replace("detectors: {", &format!("detectors: {{{others}, "));
    let first = loaded(&text).unwrap();
    let printed = first.to_yaml();
    assert!(!printed.contains("hunter2"), "{printed}");
    assert!(
        printed.contains("data_dir: /home/ada/.local/state/eddy")
            && !printed.contains("shards: null"),
        "{printed}"
    );
    assert!(!format!("{first:?}").contains("hunter2"));
    let second = loaded(&printed.replace("[hidden]", "hunter2")).unwrap();
    assert_eq!(second.settings.policy, first.settings.policy);
    assert_eq!(second.to_yaml(), printed);
}

/// Given a daemon's file on a machine that has none of its secrets, what it says of judging can be used, and is checked.
#[test]
fn a_file_can_be_judged_by_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("eddy.yaml");
    let sources = Sources {
        file: Some(file.clone()),
        ..Sources::default()
    };
    let of_daemon = "service: {data_dir: '${env:EDDY_TEST_UNSET}', api: {auth: {tokens: [{token_file: /nowhere}]}}}\n";
    std::fs::write(
        &file,
        format!("{of_daemon}detectors: {{profile: looplens}}"),
    )
    .unwrap();
    assert!(load(&sources).is_err());
    let loaded = load_to_judge(&sources).unwrap();
    assert_eq!(loaded.settings.policy.profile, "looplens");
    std::fs::write(&file, format!("{of_daemon}detectors: {{profil: looplens}}")).unwrap();
    let mistakes = load_to_judge(&sources).unwrap_err().to_string();
    assert!(mistakes.contains("2:13: detectors.profil"), "{mistakes}");
}

/// Given addresses with a user, a password or a query, what may be secret of them is not printed, and where they lead is; another
/// secret of one waits for a restart.
#[test]
fn addresses_are_printed_without_their_secrets() {
    let text = "exporters:\n  webhook: {url: 'https://grace:hunter2@x.example:8443/hook?token=hunter2&hunter2&n=#top'}\n  \
                otlp_logs: {endpoint: 'http://y.example:4317'}\n  \
                webhook/chat: {url: 'https://v.example/services/T0123/hunter2-hunter2-hunter2'}\n  \
                otlp_forward: {endpoint: 'http://a:hunter2@z.example/otlp', protocol: http}\n\
                service: {telemetry: {traces: {otlp: {endpoint: 'http://w.example:4317'}}}}\n";
    let printed = loaded(text).unwrap().to_yaml();
    assert!(
        !printed.contains("hunter2") && !printed.contains("grace"),
        "{printed}"
    );
    for shown in [
        "https://[hidden]@x.example:8443/hook?token=[hidden]&[hidden]&n=[hidden]#top",
        "http://y.example:4317",
        "https://v.example/services/T0123/[hidden]",
        "http://[hidden]@z.example/otlp",
        "http://w.example:4317",
    ] {
        assert!(printed.contains(shown), "{printed}");
    }
    let other = loaded(&text.replace("?token=hunter2", "?token=hunter3")).unwrap();
    let differences = loaded(text).unwrap().differences(&other);
    assert_eq!(differences, ["exporters.webhook.url"]);
    // They were compared bare, and are hidden again.
    assert_eq!(other.to_yaml(), printed);
}

/// Given durations, they are printed in the units in which they may be written.
#[test]
fn durations_are_printed_as_they_are_written() {
    for (written, printed) in [
        ("90d", "90d"),
        ("1h 30m", "1h 30m"),
        ("90m", "1h 30m"),
        ("1500ms", "1s 500ms"),
        ("366days", "366d"),
    ] {
        let text = format!("runs: {{idle: {written}, retention: {{age: 3000d}}}}");
        let text = loaded(&text).unwrap().to_yaml();
        assert!(text.contains(&format!("idle: {printed}\n")), "{text}");
    }
}

/// Given other profiles for single tools and agents, each has its own rules and answers, what the file says of tools and of the
/// guard, and the main profile's rules about the run as a whole.
#[test]
fn single_tools_and_agents_have_other_profiles() {
    let policy = settings(
        "detectors:
  cost_budget_usd: 2
  rules: {no_progress: {calls: 9}, handoff_bounce: {handoffs: 7}}
  profiles:
    '*@support-*': {profile: automatos}
    web_search:
      profile: agentium
      rules: {duplicate_call: {calls: 2}}
      guard: {deadline_ms: 70, actions: [{rules: [duplicate_call], verdict: abort, message: enough}]}
      tools: {web_search: {limit: 1}}
    lookup: {profile: agent-runtime}
tools: {web_search: {polling_seconds: 60, limit: 8}}
guard: {mode: observe, deadline_ms: 60, keep_results: false, actions: []}
",
    )
    .policy;
    let [support, search, lookup] =
        ["*@support-*", "web_search", "lookup"].map(|name| &policy.others[name]);
    assert_eq!(policy.profile, "standard");
    assert!(policy.guard.actions.is_empty());
    assert_eq!(policy.rules.no_progress.as_ref().unwrap().calls, 9);
    for other in [support, search, lookup] {
        assert_eq!(other.guard.mode, Mode::Observe);
        assert_eq!(other.rules.no_progress, None);
        assert_eq!(other.rules.handoff_bounce, policy.rules.handoff_bounce);
        let budget = other.rules.cost_budget_exceeded.as_ref().unwrap();
        assert_eq!(budget.budget_usd, Some(2.0));
        let polling = other.tools.of("web_search", None).polling_seconds;
        assert_eq!(polling, Some(60));
    }
    let built_in = profile::Name::Automatos.policy();
    assert_eq!(support.guard.actions, built_in.guard.actions);
    assert_eq!(support.rules.duplicate_call, built_in.rules.duplicate_call);
    let limit = |policy: &Policy| policy.tools.of("web_search", None).limit;
    assert_eq!([support, search].map(limit), [Some(8), Some(1)]);
    assert_eq!(support.guard.deadline_ms, 60);
    assert_eq!(search.guard.deadline_ms, 70);
    assert_eq!(search.rules.duplicate_call.as_ref().unwrap().calls, 2);
    assert_eq!(search.guard.actions.len(), 1);
    assert!(!lookup.guard.keep_results, "as the file says for all");
    let alone = "detectors: {profiles: {x: {profile: agent-runtime}}}";
    assert!(settings(alone).policy.others["x"].guard.keep_results);
}

/// Given names of workers and a table of prices, reading telemetry goes by them; given a table that is wrong, the place in it is
/// named; given one that is not there, the key.
#[test]
fn reading_telemetry_is_configured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("prices.yaml");
    std::fs::write(&path, "mine-*: {input: 1, output: 2}\n").unwrap();
    let text = format!(
        "normalize: {{worker_attributes: [team.member], prices_file: '{}'}}\n",
        path.display()
    );
    let normalize = settings(&text).normalize;
    assert_eq!(normalize.worker_attributes, ["team.member"]);
    assert_ne!(*normalize.prices, *crate::normalize::Prices::built_in());
    std::fs::write(&path, "mine-*: {inputs: 1}\n").unwrap();
    let mistakes = loaded(&text).unwrap_err().to_string();
    let named = format!("{}:1:10: mine-*.inputs: ", path.display());
    assert!(mistakes.contains(&named), "{mistakes}");
    std::fs::remove_file(&path).unwrap();
    let mistakes = loaded(&text).unwrap_err().to_string();
    assert!(mistakes.contains("normalize.prices_file"), "{mistakes}");
    let mistakes = loaded("normalize: {worker_attributes: ['']}\n")
        .unwrap_err()
        .to_string();
    assert!(
        mistakes.contains("normalize.worker_attributes"),
        "{mistakes}"
    );
}

/// Given two readings, what differs outside of `detectors` is named by its path.
#[test]
fn what_waits_for_a_restart_is_named() {
    let before = loaded("").unwrap();
    let after = "detectors: {profile: looplens}\nruns: {idle: 1m}\nservice: {api: {endpoint: '127.0.0.1:9'}}\n\
                 exporters: {file: {path: /tmp/x}}\n";
    let mut after = before.differences(&loaded(after).unwrap());
    after.retain(|path| !path.starts_with("exporters"));
    assert_eq!(after, ["runs.idle", "service.api.endpoint"]);
    for applies in [
        "detectors: {profile: looplens}",
        "tools: {search: {limit: 3}}",
        "guard: {deadline_ms: 7}",
    ] {
        let applies = loaded(applies).unwrap();
        assert_eq!(before.differences(&applies), Vec::<String>::new());
    }
}

/// Given another secret, it waits for a restart and is named, whatever else has changed.
#[test]
fn changed_secrets_are_named() {
    let with = |token: &str| {
        loaded(&format!(
            "exporters: {{webhook: {{url: 'https://alerts.example', token: {token}}}}}"
        ))
        .unwrap()
    };
    assert_eq!(
        with("one").differences(&with("two")),
        ["exporters.webhook.token"]
    );
    let listening = |token: &str, port: u16| {
        loaded(&format!(
            "receivers: {{otlp: {{protocols: {{http: {{endpoint: 'localhost:{port}', auth: {{tokens: [{{token: {token}}}]}}}}}}}}}}"
        ))
        .unwrap()
    };
    assert_eq!(
        listening("one", 4318).differences(&listening("two", 4320)),
        [
            "receivers.otlp.protocols.http.auth.tokens",
            "receivers.otlp.protocols.http.endpoint"
        ]
    );
    assert_eq!(with("one").differences(&with("one")), Vec::<String>::new());
}

/// Given origins of pages, they are taken as they stand; given what is no origin or no header, the mistake names its key.
#[test]
fn pages_are_chosen_by_origin() {
    let http = |cors: &str| {
        format!(
            "receivers: {{otlp: {{protocols: {{http: {{enabled: false, cors: {{{cors}}}}}}}}}}}\n"
        )
    };
    let chosen = settings(&http("allowed_origins: ['https://*.example.com', '*']"));
    assert_eq!(chosen.otlp_http_cors.allowed_origins.len(), 2);
    assert_eq!(chosen.otlp_http, None);
    for (wrong, key) in [
        ("allowed_origins: ['https://a.example/']", "allowed_origins"),
        ("allowed_origins: ['a.example']", "allowed_origins"),
        ("allowed_origins: ['https://*.a.*']", "allowed_origins"),
        ("allowed_headers: ['x team']", "allowed_headers"),
    ] {
        let mistakes = loaded(&http(wrong)).expect_err(wrong).to_string();
        assert!(mistakes.contains(&format!("cors.{key}")), "{mistakes}");
    }
}

/// Given a receiver of the daemon's own spans, one in so many is measured; given an address of Eddy's own, however it is
/// written, the mistake says so, for what is passed on as well.
#[test]
fn nothing_goes_round() {
    let own = |url: &str| {
        format!(
            "service: {{telemetry: {{traces: {{sampling_ratio: 0.25, otlp: {{endpoint: '{url}'}}}}}}}}\n"
        )
    };
    let traces = settings(&own("http://127.0.0.1:14317")).own_spans.unwrap();
    assert_eq!(traces.one_in, 4);
    assert!(settings("").own_spans.is_none());
    let traces = "service.telemetry.traces.otlp.endpoint";
    for (url, key, text) in [
        (
            "http://127.0.0.1:4317",
            traces,
            own("http://127.0.0.1:4317"),
        ),
        (
            "http://localhost:4318/v1/traces",
            traces,
            own("http://localhost:4318/v1/traces"),
        ),
        (
            "http://u@LOCALHOST:4319",
            traces,
            own("http://u@LOCALHOST:4319"),
        ),
        ("http://0.0.0.0:4317", traces, own("http://0.0.0.0:4317")),
        ("http://127.1:4317", traces, own("http://127.1:4317")),
        (
            "http://2130706433:4317",
            traces,
            own("http://2130706433:4317"),
        ),
        (
            "http://[::ffff:127.0.0.1]:4317",
            traces,
            own("http://[::ffff:127.0.0.1]:4317"),
        ),
        (
            "http://127.0.0.1:4317",
            "exporters.otlp_forward.endpoint",
            "exporters: {otlp_forward: {endpoint: 'http://127.0.0.1:4317'}}\n".to_owned(),
        ),
        (
            "http://[::1]:4317",
            "exporters.otlp_logs/x.endpoint",
            "exporters: {otlp_logs/x: {endpoint: 'http://[::1]:4317'}}\n\
             receivers: {otlp: {protocols: {grpc: {endpoint: '[::1]:4317'}}}}\n"
                .to_owned(),
        ),
    ] {
        let mistakes = loaded(&text).expect_err(url).to_string();
        assert!(
            mistakes.contains(key) && mistakes.contains("own address"),
            "{mistakes}"
        );
    }
    // Who listens everywhere listens at this machine's own address, where it has one, and not at another's.
    let anywhere = |host: IpAddr| {
        loaded(&format!(
            "receivers: {{otlp: {{protocols: {{grpc: {{endpoint: '0.0.0.0:4317'}}}}}}}}\n\
             service: {{allow_insecure: true}}\nexporters: {{otlp_forward: {{endpoint: 'http://{host}:4317'}}}}\n"
        ))
    };
    let elsewhere = IpAddr::from([198, 51, 100, 7]);
    anywhere(elsewhere).expect("another's address");
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    if socket.connect((elsewhere, 9)).is_ok() {
        let own = socket.local_addr().unwrap().ip();
        let mistakes = anywhere(own).expect_err("its own").to_string();
        assert!(mistakes.contains("own address"), "{mistakes}");
    }
    // Where nothing is received over HTTP, its usual address may be a collector's.
    let collector = "receivers: {otlp: {protocols: {http: {enabled: false}}}}\n\
         exporters: {otlp_forward: {protocol: http, endpoint: 'http://127.0.0.1:4318'}}\n";
    loaded(collector).expect("another's address");
    let none = loaded("service: {telemetry: {traces: {sampling_ratio: 0}}}").unwrap_err();
    assert!(none.to_string().contains("traces.sampling_ratio"), "{none}");
}
