//! What a client writes in an address, read, and what is said of it where it is wrong.
//!
//! Parameters that are not known are refused, because a misspelt filter would let everything through.

use std::borrow::Cow;
use std::iter;
use std::num::{IntErrorKind, ParseIntError};

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use super::error::ApiError;
use crate::engine::view::Status;
use crate::engine::warning::Severity;

/// The parameters of a request.
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::of(&parts.uri)
    }
}

impl<T: DeserializeOwned> Parameters<T> {
    pub(super) fn of(address: &Uri) -> Result<Self, ApiError> {
        let read = Query::try_from_uri(address);
        let Query(parameters) = read.map_err(|rejection| bad_query(&rejection))?;
        // What is not UTF-8 has been read as something else, which nobody asked for.
        for parameter in address.query().unwrap_or_default().split('&') {
            if let Some((field, value)) = parameter.split_once('=')
                && !is_utf8(value)
            {
                return Err(not_utf8(field.to_owned()));
            }
        }
        Ok(Self(parameters))
    }
}

/// Whether a text is UTF-8 after `%` is undone.
fn is_utf8(text: &str) -> bool {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2).map(|digits| u8::from_str_radix(digits, 16));
        match code {
            Some(Ok(code)) => bytes.extend(iter::once(code).chain(part.bytes().skip(2))),
            _ => bytes.extend(iter::once(b'%').chain(part.bytes())),
        }
    }
    str::from_utf8(&bytes).is_ok()
}

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
        .map(|name| named("status", name, &Status::ALL, Status::name))
        .collect()
}

/// The least severity by its public id; empty lets everything through.
pub(super) fn min_severity(text: &str) -> Result<Severity, ApiError> {
    match text {
        "" => Ok(Severity::Info),
        name => named("min_severity", name, &Severity::ALL, Severity::name),
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

/// Part of a path, which can be wrong in no other way, or a parameter.
pub(super) fn not_utf8(field: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::invalid(field, "is not UTF-8 after `%` is undone")
}

fn bad_query(rejection: &QueryRejection) -> ApiError {
    let told = rejection.body_text();
    // What failed, then the parameter where it is known which, then what is wrong.
    let wrong = told.split_once(": ").map_or(&*told, |(_, wrong)| wrong);
    if let Some((field, problem)) = wrong.split_once(": ") {
        return ApiError::invalid(field.to_owned(), problem_with(field, problem));
    }
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

/// What is wrong with a parameter, in words for who wrote it.
fn problem_with(field: &str, problem: &str) -> String {
    match problem {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            return "a whole number is expected".to_owned();
        }
        "number too large to fit in target type" => return "the number is too large".to_owned(),
        _ => {}
    }
    let Some(known) = problem.strip_prefix(&format!("unknown field `{field}`, ")) else {
        return problem.to_owned();
    };
    if known == "there are no fields" {
        return "unknown parameter; there are none here".to_owned();
    }
    let known = known.trim_start_matches("expected ");
    let known = known.trim_start_matches("one of ");
    format!("unknown parameter; known here: {known}")
}
