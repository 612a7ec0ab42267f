//! What is said of bad files.

use super::loaded;

/// Given a bad file, what is said begins with file, line and column, names the key and says what would be right.
pub(super) fn check(text: &str, expected: &[&str]) {
    let mistakes = loaded(text).unwrap_err();
    let lines: Vec<String> = mistakes.0.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), expected.len(), "{text}\n{mistakes}");
    for (line, expected) in lines.iter().zip(expected) {
        let is_said = line.starts_with(&format!("eddy.yaml:{expected}"));
        assert!(is_said, "{text}\n{line}\n{expected}");
    }
}

#[test]
fn misspelt_keys_are_named_with_the_nearest_right_one() {
    check(
        "receiver: {}",
        &["1:1: receiver: unknown key; did you mean `receivers`?"],
    );
    check(
        "service:\n  shard: 3",
        &["2:3: service.shard: unknown key; did you mean `shards`?"],
    );
    check(
        "receivers:\n  otlp:\n    protocols:\n      grpc:\n        endpont: 127.0.0.1:1",
        &["5:9: receivers.otlp.protocols.grpc.endpont: unknown key; did you mean `endpoint`?"],
    );
    check(
        "data_dir: /x",
        &["1:1: data_dir: unknown key here; did you mean `service.data_dir`?"],
    );
    check(
        "exporters: {webhook: {url: 'https://x', lasts: 1h}}",
        &["1:41: exporters.webhook.lasts: is for `alertmanager` alone"],
    );
    check(
        "detectors: {mode: observe}",
        &["1:13: detectors.mode: unknown key here; did you mean `guard.mode`?"],
    );
    check(
        "service: {telemetry: {traces: {endpoint: 'http://x'}}}",
        &[
            "1:32: service.telemetry.traces.endpoint: unknown key here; did you mean `service.telemetry.traces.otlp.endpoint`?",
        ],
    );
    check(
        "processors: {}",
        &["1:1: processors: unknown key; known here: `receivers`, `exporters`, `service`"],
    );
    check(
        "exporters:\n  webhok: {url: 'http://x'}",
        &["2:3: exporters.webhok: unknown key; did you mean `webhook`?"],
    );
    // Both of its name may be meant.
    check(
        "exporters:\n  otlp: {endpoint: 'http://x'}",
        &["2:3: exporters.otlp: unknown key; known here: `terminal`, "],
    );
    check(
        "exporters:\n  webhook:\n    url: http://x\n    tokn: a",
        &["4:5: exporters.webhook.tokn: unknown key; did you mean `token`?"],
    );
    // Not that of another exporter.
    check(
        "exporters:\n  webhook:\n    url: http://x\n    headers: {a: b}",
        &["4:5: exporters.webhook.headers: unknown key; known here: `url`, "],
    );
    check(
        "detectors:\n  rules:\n    no_progres: {calls: 3}",
        &["3:5: detectors.rules.no_progres: unknown key; did you mean `no_progress`?"],
    );
    check(
        "detectors:\n  stagnation: {calls: 3}",
        &[
            "2:3: detectors.stagnation: unknown key here; did you mean `detectors.rules.stagnation`?",
        ],
    );
    check(
        "detectors:\n  rules:\n    no_progress: {call: 3}",
        &["3:19: detectors.rules.no_progress.call: unknown key; did you mean `calls`?"],
    );
    // Not that of another section.
    check(
        "detectors:\n  rules:\n    no_progress: {enabled: false}\nguard:\n  enabled: false",
        &[
            "3:19: detectors.rules.no_progress.enabled: unknown key; a rule is switched off by `no_progress: off`",
            "5:3: guard.enabled: unknown key; known here: `mode`, ",
        ],
    );
    check(
        "runs:\n  retention:\n    max_age: 3d",
        &["3:5: runs.retention.max_age: unknown key; "],
    );
}

/// Given what is right but for how it is written, it is said how.
#[test]
fn the_right_way_to_write_is_told() {
    check(
        "service: {allow_insecure: \"true\"}",
        &[
            "1:11: service.allow_insecure: expected true or false, found a text: write `true` without quotes",
        ],
    );
    check(
        "runs: {resident_max: \"10\"}",
        &[
            "1:8: runs.resident_max: expected a whole number from 1 to 1099511627776, found a text: write `10` without quotes",
        ],
    );
    check(
        "detectors: {rules: {repeated_tool_call: on}}",
        &[
            "1:21: detectors.rules.repeated_tool_call: expected a section with keys, or `off`, found `on`",
        ],
    );
    check(
        "detectors: {rules: {repeated_tool_call: no}}",
        &[
            "1:21: detectors.rules.repeated_tool_call: expected a section with keys, or `off`, found `no`",
        ],
    );
    check(
        "guard: {exempt_tools: poll_job}",
        &["1:9: guard.exempt_tools: expected a list, found `poll_job`"],
    );
    check(
        "runs: {idle: 5m}\n---\nruns: {idle: 6m}",
        &["3:1: not readable as YAML: a configuration is one document: leave out this `---`"],
    );
    check(
        "detectors: {rules: {duplicate_call: {calls: 5}}}",
        &[
            "1:21: detectors.rules.duplicate_call: needs the key `alarm`, because the profile does not have this rule",
        ],
    );
    // A variable that is not set is one mistake, whatever its place expects.
    check(
        "runs:\n  idle: ${env:NOT_SET}\n  resident_max: ${env:NOR_THIS}",
        &[
            "2:9: runs.idle: the environment variable NOT_SET is not set",
            "3:17: runs.resident_max: the environment variable NOR_THIS is not set",
        ],
    );
    let whole = loaded("runs: {resident_max: 1e4}").unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(whole.settings.resident_runs_max, 10_000);
}

/// Given a value of another kind or out of its range, what is expected is said.
#[test]
fn wrong_values_are_named_with_what_is_expected() {
    check(
        "service: {allow_insecure: yes}",
        &["1:11: service.allow_insecure: expected true or false, found `yes`"],
    );
    check(
        "service: {api: {reflection: on}}",
        &["1:17: service.api.reflection: expected true or false, found `on`"],
    );
    check(
        "service:\n  shards: many",
        &["2:3: service.shards: expected a whole number from 1 to 256, found `many`"],
    );
    check(
        "service:\n  shards: -1",
        &["2:3: service.shards: expected a whole number from 1 to 256, found the number -1"],
    );
    check(
        "detectors: {rules: {goal_loop: {instructions: 15}}}",
        &["1:33: detectors.rules.goal_loop.instructions: expected 1 to 14, found 15"],
    );
    check(
        "service:\n  shards: 0",
        &["2:3: service.shards: expected a whole number from 1 to 256, found the number 0"],
    );
    check(
        "runs:\n  idle: 300",
        &[
            "2:3: runs.idle: expected a duration with its unit, such as `30s`, `5m` or `7d`, found the number 300",
        ],
    );
    check(
        "runs:\n  idle: soon",
        &["2:3: runs.idle: expected a duration with its unit"],
    );
    check(
        "runs:\n  idle: 5M",
        &["2:3: runs.idle: `M` would be months, which no duration has: a minute is written `m`"],
    );
    check(
        "runs:\n  idle: 2 months",
        &["2:3: runs.idle: no duration has `months`: write days, as in `30d`"],
    );
    check(
        "runs:\n  retention: {age: 1y}",
        &["2:15: runs.retention.age: no duration has `y`: write days, as in `365d`"],
    );
    check(
        "runs:\n  idle: 0s",
        &["2:3: runs.idle: must be longer than nothing"],
    );
    check(
        "runs: 5",
        &["1:1: runs: expected a section with keys, found the number 5"],
    );
    check(
        "- a\n- b",
        &["1:1: expected a section with keys, found a list"],
    );
}

/// Given less memory than the largest request and what waits to be passed on need, it is said how much that is.
#[test]
fn too_little_memory_is_named() {
    let limit = |mib: u64, rest: &str| format!("service:\n  memory_limit_mib: {mib}\n{rest}");
    let forward = "exporters: {otlp_forward: {endpoint: 'https://collector.example.com'}}";
    let large = "receivers: {otlp: {protocols: {http: {max_request_body_size_mib: 64}}}}";
    for (rest, least) in [("", 96), (forward, 160), (large, 192)] {
        let expected = format!(
            "2:3: service.memory_limit_mib: expected {least} at least, found {}",
            least - 1
        );
        check(&limit(least - 1, rest), &[&expected]);
        assert!(loaded(&limit(least, rest)).is_ok(), "{rest}");
    }
}

/// Given a name that is not one of those known, or a number that a rule cannot have, it is said which there are.
#[test]
fn wrong_names_and_thresholds_are_named() {
    check(
        "detectors:\n  profile: standart",
        &["2:3: detectors.profile: `standart` is not known; did you mean `standard`?"],
    );
    check(
        "service:\n  durability: none",
        &["2:3: service.durability: `none` is not known; one of `power`, `process`"],
    );
    check(
        "service:\n  memory_limit_mib: 1GiB",
        &[
            "2:3: service.memory_limit_mib: expected a whole number of MiB, `auto` or `off`, found `1GiB`",
        ],
    );
    check(
        "detectors:\n  cost_budget_usd: -2",
        &["2:3: detectors.cost_budget_usd: must be more than 0"],
    );
    check(
        "detectors:\n  rules:\n    cost_spike:\n      share: 50",
        &["4:7: detectors.rules.cost_spike.share: must be between 0 and 1"],
    );
    for rule in ["similar_query", "goal_loop"] {
        for written in ["7.5", "-0.1"] {
            let text = format!("detectors:\n  rules:\n    {rule}:\n      similarity: {written}");
            let said = format!("4:7: detectors.rules.{rule}.similarity: must be between 0 and 1");
            check(&text, &[&said]);
        }
    }
    check(
        "detectors:\n  rules:\n    cost_budget_exceeded:\n      budget_usd: -5",
        &["4:7: detectors.rules.cost_budget_exceeded.budget_usd: must be more than 0"],
    );
    check(
        "detectors:\n  rules:\n    cost_spike:\n      floor_usd: -3",
        &["4:7: detectors.rules.cost_spike.floor_usd: must be at least 0"],
    );
    check(
        "detectors:\n  profiles:\n    search:\n      profile: automatos\n      rules:\n        similar_query: {similarity: 2}",
        &[
            "6:25: detectors.profiles.search.rules.similar_query.similarity: must be between 0 and 1",
        ],
    );
    check(
        "runs:\n  idle: 5m\n  retention: {age: 1m}",
        &["3:15: runs.retention.age: must not be shorter than `runs.idle`"],
    );
    check(
        "runs:\n  idle: 8d",
        &["2:3: runs.idle: must not be longer than `runs.retention.age`"],
    );
    check(
        "detectors:\n  rules:\n    no_progress:\n      calls: three",
        &[
            "4:7: detectors.rules.no_progress.calls: expected a whole number from 0 to 4294967295, found `three`",
        ],
    );
    check(
        "detectors:\n  rules:\n    no_progress:\n      alarm:\n        severity: grave",
        &[
            "5:9: detectors.rules.no_progress.alarm.severity: `grave` is not known; one of `info`, `warning`, `critical`",
        ],
    );
    check(
        "receivers:\n  otlp:\n    protocols:\n      grpc:\n        max_recv_msg_size_mib: 0",
        &[
            "5:9: receivers.otlp.protocols.grpc.max_recv_msg_size_mib: expected a whole number from 1 to 1024, found the number 0",
        ],
    );
}

/// Given settings of rules that hold at nothing or never, each is named.
#[test]
fn settings_that_mean_nothing_are_named() {
    let rules = |rules: &str| format!("detectors:\n  rules: {rules}");
    check(
        &rules("{repeated_tool_call_exact_input: {calls: 0, calls_weak: 0, calls_moving: 0}}"),
        &[
            "2:44: detectors.rules.repeated_tool_call_exact_input.calls: must be at least 1",
            "2:54: detectors.rules.repeated_tool_call_exact_input.calls_weak: must be at least 1",
            "2:69: detectors.rules.repeated_tool_call_exact_input.calls_moving: must be at least 1",
        ],
    );
    check(
        &rules("{stagnation: {window_calls: 0}}"),
        &["2:24: detectors.rules.stagnation.window_calls: must be at least 1"],
    );
    check(
        &rules("{stagnation: {calls: 30, window_calls: 12}}"),
        &[
            "2:24: detectors.rules.stagnation.calls: expected 12 at most, found 30: the rule looks at the newest 12 calls",
        ],
    );
    check(
        &rules("{repeated_tool_call: {calls: 9}}"),
        &["2:32: detectors.rules.repeated_tool_call.calls: expected 8 at most, found 9"],
    );
    check(
        &rules("{stagnation: {calls: 14, window_calls: 20}}"),
        &["2:24: detectors.rules.stagnation.calls: expected 13 at most, found 14"],
    );
    check(
        &rules("{tool_cycle: {longest: 1000}, handoff_cycle: {rounds: 4}}"),
        &[
            "2:24: detectors.rules.tool_cycle.longest: expected 2 to 32, found 1000",
            "2:56: detectors.rules.handoff_cycle.rounds: expected 2 to 3, found 4",
        ],
    );
    check(
        "detectors: {profiles: {x: {profile: attocode, rules: {doom_loop: {calls: 0}}}}}",
        &["1:67: detectors.profiles.x.rules.doom_loop.calls: must be at least 1"],
    );
    // What may be nothing: calls of a tool, and what is long.
    for text in [
        "{tool_limit: {calls: 0}}",
        "{long_running_step: {seconds: 0}}",
    ] {
        loaded(&rules(text)).unwrap();
    }
}

/// Given listeners that nobody locks, that take each other's place or whose keys do not fit, each is named.
#[test]
fn listeners_that_cannot_be_are_named() {
    check(
        "service:\n  api: {endpoint: '0.0.0.0:4319'}",
        &[
            "2:9: service.api.endpoint: `0.0.0.0:4319` can be reached from other machines, and nobody is asked for a token: use 127.0.0.1, set `service.api.auth.tokens`",
        ],
    );
    check(
        "service:\n  api: {endpoint: '127.0.0.1:4317'}",
        &[
            "2:9: service.api.endpoint: `127.0.0.1:4317` is the address of the OTLP/gRPC receiver too",
        ],
    );
    check(
        "receivers: {otlp: {protocols: {http: {endpoint: 'localhost:4317'}}}}",
        &[
            "1:39: receivers.otlp.protocols.http.endpoint: `127.0.0.1:4317` is the address of the OTLP/gRPC receiver too",
        ],
    );
    check(
        "service:\n  api: {tls: {cert_file: /nowhere, key_file: x}}",
        &[
            "2:15: service.api.tls.cert_file: `/nowhere` cannot be read: ",
            "2:36: service.api.tls.key_file: `x` cannot be read: ",
        ],
    );
    let tls = |min_version: &str| {
        let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls");
        format!(
            "service:\n  api:\n    tls:\n      cert_file: {tests}/server.crt\n      key_file: {tests}/server.key\n      \
             min_version: {min_version}"
        )
    };
    check(
        &tls("'1.1'"),
        &["6:7: service.api.tls.min_version: `1.1` is not known; one of `1.2`, `1.3`"],
    );
    check(
        &tls("1.3"),
        &[
            "6:7: service.api.tls.min_version: expected a text: put the number between quotes, `\"1.3\"`",
        ],
    );
    check(
        &tls("1.1"),
        &["6:7: service.api.tls.min_version: expected one of `1.2`, `1.3`, found the number 1.1"],
    );
    check(
        "service:\n  api: {auth: {tokens: [{}]}}",
        &["2:25: service.api.auth.tokens.1: each token needs one of `token` and `token_file`"],
    );
    check(
        "service:\n  api: {auth: {tokens: [{token: 1234}]}}",
        &["2:26: service.api.auth.tokens.1.token: expected a text"],
    );
    check(
        "service:\n  api: {auth: {tokens: [{token: a, tenant: Blue/1}]}}",
        &["2:36: service.api.auth.tokens.1.tenant: a tenant's name has 1 to 64 lower-case letters"],
    );
    check(
        "service:\n  api: {auth: {tokens: [{token: a, tenant: blue}, {token: a, tenant: red}]}}",
        &["2:16: service.api.auth.tokens: two tenants have the same token"],
    );
}

/// Given secrets in the wrong form, or in addresses that are none, what is wrong is told and the secret is not.
#[test]
fn mistakes_do_not_tell_secrets() {
    for (text, expected) in [
        (
            "exporters:\n  webhook:\n    url: hooks.example/services/T0123/hunter2-hunter2-hunter2",
            "`hooks.example/services/T0123/[hidden]`",
        ),
        (
            "exporters:\n  webhook:\n    url: HTTPS://me:hunter2@hooks.example",
            "`HTTPS://[hidden]@hooks.example`",
        ),
        (
            "exporters:\n  webhook:\n    url: http://x\n    token: 72727272",
            "found a number",
        ),
        (
            "exporters:\n  otlp_logs:\n    endpoint: http://x:1\n    headers: 'authorization: Bearer hunter2'",
            "found a text",
        ),
        (
            "service: {api: {auth: {tokens: [hunter2]}}}",
            "found a text",
        ),
    ] {
        let told = loaded(text).expect_err(text).to_string();
        assert!(told.contains(expected), "{told}");
        assert!(
            !told.contains("hunter2") && !told.contains("7272"),
            "{told}"
        );
    }
}

/// Given webhooks that lack something, or have what does not go together, each is named.
#[test]
fn webhooks_that_cannot_be_are_named() {
    check(
        "exporters:\n  webhook:\n    token: x",
        &["2:3: exporters.webhook: needs the key `url`"],
    );
    check(
        "exporters:\n  webhook:\n    url: 5",
        &["3:5: exporters.webhook.url: expected a text (put it between quotes), found a number"],
    );
    check(
        "exporters:\n  webhook:\n    url: ftp://x",
        &["3:5: exporters.webhook.url: expected an http:// or https:// address, found `ftp://x`"],
    );
    check(
        "exporters:\n  webhook:\n    url: http://x\n    external_url: http://h/?q=1",
        &["4:5: exporters.webhook.external_url: must end with its path, behind which links go on"],
    );
    check(
        "exporters:\n  webhook:\n    url: http://x\n    token: ''",
        &["4:5: exporters.webhook.token: must not be empty; leave it out"],
    );
    check(
        "exporters:\n  webhook:\n    url: http://x\n    token: a\n    token_file: b",
        &["5:5: exporters.webhook.token_file: `token` is given too"],
    );
    check(
        "exporters:\n  webhook:\n    url: http://x\n    token_file: /nowhere/token",
        &["4:5: exporters.webhook.token_file: `/nowhere/token` cannot be read: "],
    );
    check(
        "exporters:\n  webhook: {url: 'http://localhost:9/'}",
        &[
            "2:13: exporters.webhook.url: the address names this machine, localhost; `allow_private: true`",
        ],
    );
    check(
        "exporters:\n  webhook:\n    url: http://x\n    retry_on_failure: {initial_interval: 2m}",
        &["4:5: exporters.webhook.retry_on_failure.max_interval: must not be shorter"],
    );
}

/// Given files and directories that cannot be where they are to be, each is named.
#[test]
fn files_that_cannot_be_are_named() {
    check(
        "service:\n  data_dir: ~/eddy",
        &["2:3: service.data_dir: `~` is a shell's; write the whole path"],
    );
    check(
        "service:\n  data_dir: \"/a\\0b\"",
        &["2:3: service.data_dir: must not hold a NUL character"],
    );
    check(
        "service:\n  data_dir: $HOME/eddy",
        &[
            "2:3: service.data_dir: `$` is a shell's; an environment variable is written `${env:NAME}`",
        ],
    );
    check(
        "exporters:\n  file: {path: /nowhere/at/all.jsonl}",
        &["2:10: exporters.file.path: there is no directory `/nowhere/at`"],
    );
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().display();
    check(
        &format!("exporters:\n  file: {{path: {directory}}}"),
        &[&format!(
            "2:10: exporters.file.path: `{directory}` is a directory; name a file in it"
        )],
    );
    check(
        &format!(
            "exporters:\n  file: {{path: {directory}/a}}\n  file/b: {{path: {directory}/./a}}"
        ),
        &[&format!(
            "3:12: exporters.file/b.path: `{directory}/./a` is the file of the exporter `file` too"
        )],
    );
    check(
        &format!("service: {{data_dir: {directory}}}\nexporters:\n  file: {{path: {directory}/a}}"),
        &[&format!(
            "3:10: exporters.file.path: `{directory}/a` is in the data directory"
        )],
    );
}

/// Given exporters with a path, a key or a name that they cannot have, each is named.
#[test]
fn exporters_that_cannot_be_are_named() {
    check(
        "exporters:\n  otlp_forward: {endpoint: 'http://h:4318/otlp'}\n  otlp_logs: {endpoint: 'http://h:4317/x'}",
        &[
            "2:18: exporters.otlp_forward.endpoint: the address has a path, and gRPC knows none: end it with the port, or set `protocol: http`",
            "3:15: exporters.otlp_logs.endpoint: the address has a path, and gRPC knows none: end it with the port",
        ],
    );
    check(
        "exporters:\n  otlp_forward: {endpoint: 'https://h:4317', tls: {cert_file: a}}",
        &["2:52: exporters.otlp_forward.tls.cert_file: goes with `key_file`, which is missing"],
    );
    check(
        "exporters:\n  webhook: {url: 'http://h', tls: {ca_file: a}}",
        &["2:30: exporters.webhook.tls: is for https, and the address begins with http://"],
    );
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls");
    let key = format!("{tests}/client.key");
    check(
        &format!(
            "exporters:\n  otlp_logs:\n    endpoint: https://h:4317\n    tls:\n      ca_file: /nowhere\n  webhook:\n    \
             url: https://h\n    tls:\n      ca_file: {key}\n  otlp_forward:\n    endpoint: https://h:4317\n    tls:\n      \
             cert_file: {key}\n      key_file: {key}\n"
        ),
        &[
            "5:7: exporters.otlp_logs.tls.ca_file: `/nowhere` cannot be read: ",
            &format!(
                "9:7: exporters.webhook.tls.ca_file: `{key}` cannot be used: there is no certificate in it"
            ),
            &format!(
                "13:7: exporters.otlp_forward.tls.cert_file: `{key}` cannot be used: there is no certificate in it"
            ),
        ],
    );
    let certificate = format!("{tests}/server.crt");
    check(
        &format!(
            "exporters:\n  webhook:\n    url: https://h\n    tls:\n      cert_file: {certificate}\n      key_file: {key}\n"
        ),
        &[&format!(
            "6:7: exporters.webhook.tls.key_file: `{key}` cannot be used: it is not the key of the certificate in \
             `{certificate}`"
        )],
    );
    check(
        "exporters:\n  terminal: {foo: 1}",
        &["2:14: exporters.terminal.foo: unknown key; none is known here"],
    );
    check(
        "exporters:\n  file/: {path: a}",
        &["2:3: exporters.file/: a name must follow the slash"],
    );
}

/// Given what `config print` shows in the place of secrets, it is none: everybody knows it.
#[test]
fn hidden_secrets_are_no_secrets() {
    let mistake =
        "`[hidden]` is what `eddy config print` shows in the place of a secret: write the secret";
    check(
        "service:\n  api:\n    auth:\n      tokens:\n      - token: '[hidden]'",
        &[&format!("5:9: service.api.auth.tokens.1.token: {mistake}")],
    );
    check(
        "exporters:\n  webhook:\n    url: https://h/[hidden]\n    token: '[hidden]'",
        &[
            &format!("3:5: exporters.webhook.url: {mistake}"),
            &format!("4:5: exporters.webhook.token: {mistake}"),
        ],
    );
    check(
        "exporters:\n  otlp_logs:\n    endpoint: https://h\n    headers: {a: '[hidden]'}",
        &[&format!("4:15: exporters.otlp_logs.headers.a: {mistake}")],
    );
}

/// Given values that would move a terminal's cursor, or fill it, they are shown escaped and cut; given numbers that are too
/// large, they are told as they were written.
#[test]
fn strange_values_are_shown_harmlessly() {
    check(
        "service:\n  shards: \"a\\e[31m\\nb\"",
        &["2:3: service.shards: expected a whole number from 1 to 256, found `a\\u{1b}[31m\\nb`"],
    );
    let long = format!("service:\n  durability: {}", "x".repeat(5000));
    let expected = format!(
        "2:3: service.durability: `{}…` is not known; one of",
        "x".repeat(100)
    );
    check(&long, &[&expected]);
    check(
        "runs:\n  resident_max: 18446744073709551615",
        &[
            "2:3: runs.resident_max: expected a whole number from 1 to 1099511627776, found the number 18446744073709551615",
        ],
    );
    loaded("runs:\n  resident_max: 1099511627776").unwrap();
    check(
        "service:\n  shards: 18446744073709551615",
        &[
            "2:3: service.shards: expected a whole number from 1 to 256, found the number 18446744073709551615",
        ],
    );
    check(
        "detectors:\n  cost_budget_usd: 1e400",
        &["2:20: not readable as YAML: a number is larger than any may be, or is none"],
    );
    check(&format!("a: [{}]", "1,".repeat(20_000)), &["1:"]);
}

/// Given a name that is like none that is known, all are listed, and none is suggested.
#[test]
fn only_near_names_are_suggested() {
    check(
        "detectors:\n  profile: nope",
        &["2:3: detectors.profile: `nope` is not known; one of `standard`, `looplens`, "],
    );
}

/// Given a profile or a table of prices in the place of a configuration, it is said what it is and where it is named.
#[test]
fn other_files_of_eddy_are_recognised() {
    let profile = crate::config::profile::Name::Standard.yaml();
    let prices = include_str!("../../../config/prices.yaml");
    for (text, key) in [
        (profile, "detectors.profile"),
        (prices, "normalize.prices_file"),
    ] {
        let mistakes = loaded(text).unwrap_err();
        assert_eq!(mistakes.0.len(), 1, "{mistakes}");
        assert!(mistakes.0[0].text.contains(key), "{mistakes}");
    }
}

/// Given a file that cannot be read as it stands (a key twice, a variable that is not there, broken YAML), the place is named.
#[test]
fn what_cannot_be_read_is_named() {
    check(
        "runs: {idle: 5m}\nservice: {}\nruns: {}",
        &["3:1: runs: given twice; the first is in line 1"],
    );
    check(
        "service:\n  data_dir: ${env:NOWHERE}",
        &["2:13: service.data_dir: the environment variable NOWHERE is not set"],
    );
    check(
        "service:\n  data_dir: ${HOME}/x",
        &[
            "2:13: service.data_dir: `${HOME}` is not known; an environment variable is written `${env:NAME}`",
        ],
    );
    check(
        "service:\n  data_dir: ${env:HOME",
        &["2:13: service.data_dir: `${` without a closing `}`"],
    );
    check(
        "service: {api\n",
        &["1:10: not readable as YAML: unclosed bracket"],
    );
    check(
        ": : bad yaml [",
        &["1:1: not readable as YAML: a key is missing before `:`"],
    );
    check(
        "tools:\n  *_poll: {polls: true}\n",
        &[
            "2:3: not readable as YAML: what begins with `*` is an alias; a pattern goes in quotes, as in `\"*_poll\"`",
        ],
    );
    check(
        "service: {data_dir: ${env:HOME}}\n",
        &[
            "1:22: not readable as YAML: while parsing a flow mapping, did not find expected ',' or '}'; within `{…}` or `[…]`, `${env:NAME}` goes in quotes: `\"${env:NAME}\"`",
        ],
    );
    check(
        "service:\n\tapi: {}",
        &["2:2: not readable as YAML: tabs disallowed"],
    );
}

/// Given many mistakes of every sort, all are said at once, in the order of the file.
#[test]
fn all_mistakes_are_said_at_once() {
    check(
        "service:\n  shards: x\n  api: {endpoint: '0.0.0.0:1', port: 3}\nruns:\n  idle: 0s\nexporters:\n  file: {}\n\
         detectors:\n  rules:\n    no_progress: {calls: x, cals: 3}\n",
        &[
            "2:3: service.shards: expected a whole number",
            "3:9: service.api.endpoint: ",
            "3:32: service.api.port: unknown key; known here: `endpoint`, `show_arguments`, `reflection`, `tls`",
            "5:3: runs.idle: must be longer",
            "7:3: exporters.file: needs the key `path`",
            "10:19: detectors.rules.no_progress.calls: ",
            "10:29: detectors.rules.no_progress.cals: unknown key; did you mean `calls`?",
        ],
    );
}

/// Given mistakes in other profiles, each is named once, with its place and key, also those in what holds for all of them.
#[test]
fn other_profiles_are_read_as_carefully() {
    let entry = |text: &str| format!("detectors:\n  profiles:\n    x: {text}");
    check(
        &entry("automatos"),
        &["3:5: detectors.profiles.x: expected a section with keys, found `automatos`"],
    );
    check(
        &entry("{profile: automato}"),
        &["3:9: detectors.profiles.x.profile: `automato` is not known; did you mean `automatos`?"],
    );
    check(
        &entry("{rules: {tool_limit: {calls: 3}}}"),
        &["3:5: detectors.profiles.x: needs the key `profile`"],
    );
    check(
        &entry("{profile: automatos, rule: {}}"),
        &["3:29: detectors.profiles.x.rule: unknown key; did you mean `rules`?"],
    );
    check(
        &entry("{profile: automatos, rules: {tool_limt: {calls: 3}}}"),
        &["3:37: detectors.profiles.x.rules.tool_limt: unknown key; did you mean `tool_limit`?"],
    );
    check(
        &entry("{profile: automatos, rules: {cost_spike: off}}"),
        &[
            "3:37: detectors.profiles.x.rules.cost_spike: is about the whole run; it belongs under `detectors.rules.cost_spike`",
        ],
    );
    check(
        &entry("{profile: automatos, guard: {deadline_ms: 0}}"),
        &["3:37: detectors.profiles.x.guard.deadline_ms: expected 1 to 10000, found 0"],
    );
    check(
        &format!(
            "{}\nguard: {{mode: observ, deadline_ms: 0}}\ntools: {{a: {{limt: 3}}}}",
            entry("{profile: automatos}")
        ),
        &[
            "4:9: guard.mode: `observ` is not known; did you mean `observe`?",
            "4:23: guard.deadline_ms: expected 1 to 10000, found 0",
            "5:13: tools.a.limt: unknown key; did you mean `limit`?",
        ],
    );
    check(
        "detectors: {profiles: {'search@': {profile: automatos}}}",
        &["1:24: detectors.profiles.search@: expected a tool's name or `TOOL@AGENT`"],
    );
    check(
        "detectors: {profiles: {x: {profile: automatos, tools: {'@b': {limit: 3}}}}}\ntools: {'': {limit: 3}, 'a@': {limit: 3}}",
        &[
            "1:56: detectors.profiles.x.tools.@b: expected a tool's name or `TOOL@AGENT`",
            "2:9: tools.: expected a tool's name or `TOOL@AGENT`",
            "2:25: tools.a@: expected a tool's name or `TOOL@AGENT`",
        ],
    );
    let many = (0..17).map(|n| format!("t{n}: {{profile: looplens}}"));
    let many: Vec<_> = many.collect();
    let many = many.join(", ");
    check(
        &format!("detectors: {{profiles: {{{many}}}}}"),
        &["1:13: detectors.profiles: at most 16 entries, found 17"],
    );
    check(
        "profiles: {x: {profile: automatos}}",
        &["1:1: profiles: unknown key here; did you mean `detectors.profiles`?"],
    );
}
