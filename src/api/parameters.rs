//! What a client writes in an address, read, and what is said of it where it is wrong.
//!
//! Parameters that are not known are refused, because a misspelt filter would let everything through.

use std::num::{IntErrorKind, ParseIntError};

use axum::extract::rejection::QueryRejection;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::error::ApiError;
use crate::engine::view::Status;
use crate::engine::warning::Severity;

const STATUSES: [Status; 5] = [
    Status::Healthy,
    Status::Warning,
    Status::LikelyStuck,
    Status::Failed,
    Status::Blind,
];

const SEVERITIES: [Severity; 3] = [Severity::Info, Severity::Warning, Severity::Critical];

/// The query of what takes no parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoQuery {}

/// A whole number; one too large for its type is as large as it can be.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse()
        .or_else(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => Ok(i64::MAX),
            IntErrorKind::NegOverflow => Ok(i64::MIN),
            _ => Err(Error::custom(error)),
        })
}

/// Statuses by their public ids, separated by commas.
pub(super) fn statuses(text: &str) -> Result<Vec<Status>, ApiError> {
    let names = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    names
        .map(|name| named("status", name, &STATUSES, Status::name))
        .collect()
}

/// The least severity by its public id; empty lets everything through.
pub(super) fn min_severity(text: &str) -> Result<Severity, ApiError> {
    match text {
        "" => Ok(Severity::Info),
        name => named("min_severity", name, &SEVERITIES, Severity::name),
    }
}

fn named<T: Copy>(
    field: &'static str,
    name: &str,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<T, ApiError> {
    let found = all.iter().copied().find(|value| name_of(*value) == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = all.iter().copied().map(name_of).collect();
        ApiError::invalid(
            field,
            format!("`{name}` is not one of {}", known.join(", ")),
        )
    })
}

/// A part of a path can be wrong in one way alone.
pub(super) fn bad_path(field: &'static str) -> ApiError {
    ApiError::invalid(field, "is not UTF-8 after `%` is undone")
}

pub(super) fn bad_query(rejection: &QueryRejection) -> ApiError {
    let told = rejection.body_text();
    // What failed, then the parameter where it is known which, then what is wrong.
    let wrong = told.split_once(": ").map_or(&*told, |(_, wrong)| wrong);
    let wrong = match wrong.split_once(": ") {
        Some((field, problem)) => {
            let problem = match problem {
                "invalid digit found in string" | "cannot parse integer from empty string" => {
                    "a whole number is expected".to_owned()
                }
                "number too large to fit in target type" => "the number is too large".to_owned(),
                _ => match problem.strip_prefix(&format!("unknown field `{field}`, ")) {
                    Some("there are no fields") => {
                        "unknown parameter; there are none here".to_owned()
                    }
                    Some(known) => {
                        let known = known.trim_start_matches("expected ");
                        format!(
                            "unknown parameter; known here: {}",
                            known.trim_start_matches("one of ")
                        )
                    }
                    None => problem.to_owned(),
                },
            };
            return ApiError::invalid(field.to_owned(), problem);
        }
        None => wrong,
    };
    // A parameter that is not there, or there twice, is named in the text alone.
    for (beginning, problem) in [
        ("missing field `", "is missing"),
        ("duplicate field `", "is given twice"),
    ] {
        if let Some(field) = wrong.strip_prefix(beginning) {
            let field = field.trim_end_matches('`').to_owned();
            return ApiError::invalid(field, problem);
        }
    }
    ApiError::invalid("query", wrong)
}
