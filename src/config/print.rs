//! `eddy config print`: the effective configuration, written as YAML that can be read again, but for the secrets.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Settings;
use super::profile::Name;
use super::shape::exporters::Exporters;
use super::shape::{Normalize, Receivers, Runs, Service, Shape};
use super::values::Whole;
use crate::engine::guard::policy::GuardPolicy;
use crate::engine::policy::{Policy, Rules, Tools};
use crate::engine::warning::Rule;
use crate::shard;

/// The shape in the order of the reference, with the rules that the profile and the changes to it come to.
#[derive(Serialize)]
struct Printed<'a> {
    receivers: &'a Receivers,
    exporters: &'a Exporters,
    service: &'a Service,
    runs: &'a Runs,
    normalize: &'a Normalize,
    detectors: Detectors,
    guard: &'a GuardPolicy,
    tools: &'a Tools,
}

#[derive(Serialize)]
struct Detectors {
    profile: Name,
    cost_budget_usd: Option<f64>,
    recovery_calls: Option<u32>,
    rules: Map<String, Value>,
    profiles: BTreeMap<String, Other>,
}

/// An entry of `detectors.profiles`.
#[derive(Serialize)]
struct Other {
    profile: String,
    rules: Map<String, Value>,
    tools: Tools,
    guard: GuardPolicy,
}

pub(super) fn yaml(shape: &Shape, settings: &Settings) -> String {
    let policy = &settings.policy;
    let shards = settings.shards;
    let shards = shards.unwrap_or_else(|| shard::Settings::default().shards);
    let service = Service {
        data_dir: Some(settings.data_dir.to_string_lossy().into_owned()),
        shards: Some(Whole(shards.into())),
        ..shape.service.clone()
    };
    let printed = Printed {
        receivers: &shape.receivers,
        exporters: &shape.exporters,
        service: &service,
        runs: &shape.runs,
        normalize: &shape.normalize,
        detectors: Detectors {
            profile: shape.detectors.profile,
            cost_budget_usd: shape.detectors.cost_budget_usd,
            recovery_calls: policy.recovery_calls,
            rules: switched(&policy.rules),
            profiles: policy
                .others
                .iter()
                .map(|(name, policy)| (name.clone(), other(policy)))
                .collect(),
        },
        guard: &policy.guard,
        tools: &policy.tools,
    };
    serde_saphyr::to_string(&printed)
        .expect("texts, numbers and maps with text keys can be written as YAML")
}

fn other(policy: &Policy) -> Other {
    let mut rules = switched(&policy.rules);
    for rule in Rule::ALL.iter().filter(|rule| rule.is_of_run()) {
        rules.remove(rule.name());
    }
    Other {
        profile: policy.profile.clone(),
        rules,
        tools: policy.tools.clone(),
        guard: policy.guard.clone(),
    }
}

/// The rules with `off` for those that are.
fn switched(rules: &Rules) -> Map<String, Value> {
    let rules = serde_json::to_value(rules).expect("rules are numbers and words");
    let Value::Object(mut rules) = rules else {
        return Map::new();
    };
    for rule in rules.values_mut() {
        if rule.is_null() {
            *rule = Value::from("off");
        }
    }
    rules
}
