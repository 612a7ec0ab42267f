//! Tells the errors of services that have a form of their own for them: of health records (FHIR), of accounts, of SOAP and XML-RPC,
//! of SAP, of `OData`, of JSON:API, of Jira.
//!
//! Each of these forms says by its names alone that the call failed. That is so whatever else their words say, and wherever
//! the tool gives the model the answer and does not raise.

use std::borrow::Cow;

use super::super::emptiness::is_nothing;
use super::super::sample::cut;
use super::super::{Object, items, member, unquote};

/// Longest object that may be no more than such an error.
const ERROR_BYTES_MAX: usize = 1_024;

/// Members of an object that is a fault and nothing else; one beside others may be that of a thing, such as a device.
pub(super) const KNOWN: [&str; 11] = [
    "Fault",
    "fault",
    "faultcode",
    "faultstring",
    "faultactor",
    "detail",
    "Error",
    "time",
    "RequestId",
    "HostId",
    "ResponseMetadata",
];

/// What went wrong, by an object that is an error of a service.
pub(super) fn error_of_service<'o>(object: &Object<'o>) -> Option<Cow<'o, str>> {
    if object.bytes() > ERROR_BYTES_MAX {
        return None;
    }
    let of_odata = || words(object.member("odata.error")?, &["message"]);
    let of_amazon = || {
        let error = object.member("Error")?;
        member(error, &["Code"])?;
        words(error, &["Message"])
    };
    let alone = || of_fault(object).or_else(of_amazon);
    let is_alone = object.members().all(|(name, _)| KNOWN.contains(&name));
    of_health(object)
        .or_else(|| is_alone.then(alone)?)
        .or_else(|| of_sap(object.member("RETURN")?))
        .or_else(of_odata)
        .or_else(|| of_tracker(object))
        .or_else(|| of_json_api(object))
}

/// The text of the first of these members; of an object in its place, of its `value`.
fn words<'o>(object: &'o str, names: &[&str]) -> Option<Cow<'o, str>> {
    let said = names.iter().find_map(|name| member(object, &[name]))?;
    let said = member(said, &["value"]).unwrap_or(said);
    is_text(said).then(|| unquote(said))
}

fn is_text(value: &str) -> bool {
    value.starts_with('"') && !is_nothing(value)
}

/// `{"resourceType": "OperationOutcome", "issue": [{"severity": "error", "diagnostics": …}]}`: an outcome with one issue. Several
/// are what was found in a record that was checked.
fn of_health<'o>(object: &Object<'o>) -> Option<Cow<'o, str>> {
    let is_outcome = object.text("resourceType")? == "OperationOutcome";
    let mut issues = items(object.member("issue").filter(|_| is_outcome)?);
    let issue = issues.next().filter(|_| issues.next().is_none())?;
    let severity = unquote(member(issue, &["severity"])?);
    let details = || words(member(issue, &["details"])?, &["text"]);
    matches!(&*severity, "error" | "fatal")
        .then(|| words(issue, &["diagnostics"]).or_else(details))?
}

/// `{"Fault": {"Error": [{"Message": …}]}}`, `{"faultcode": …, "faultstring": …}`
fn of_fault<'o>(object: &Object<'o>) -> Option<Cow<'o, str>> {
    const WORDS: [&str; 5] = ["faultstring", "Detail", "Message", "message", "detail"];
    if let Some(said) = object.member("faultstring").filter(|said| is_text(said)) {
        return Some(unquote(said));
    }
    let fault = object.member("Fault").or_else(|| object.member("fault"))?;
    let errors = member(fault, &["Error"]).map(|errors| items(errors).next().unwrap_or(errors));
    words(errors.unwrap_or(fault), &WORDS)
}

/// `{"RETURN": {"TYPE": "E", "MESSAGE": …}}`, or a list of such messages: errors and what broke a call off are `E` and `A`.
fn of_sap(told: &str) -> Option<Cow<'_, str>> {
    let is_error = |message: &&str| {
        let kind = member(message, &["TYPE"]).map(unquote);
        kind.is_some_and(|kind| matches!(&*kind, "E" | "A"))
    };
    let one = Some(told).filter(|told| told.starts_with('{'));
    let mut all = items(told).chain(one);
    words(all.find(is_error)?, &["MESSAGE"])
}

/// `{"errorMessages": [], "errors": {"resolution": …}}`
fn of_tracker<'o>(object: &Object<'o>) -> Option<Cow<'o, str>> {
    let (messages, errors) = (object.member("errorMessages")?, object.member("errors")?);
    let said = items(messages).next().filter(|said| is_text(said));
    let is_other = !is_nothing(errors);
    said.map(unquote)
        .or_else(|| is_other.then_some(Cow::Borrowed(errors)))
}

/// `{"errors": [{"status": 400, "title": …, "detail": …}]}`, with nothing beside it but what it says of itself.
fn of_json_api<'o>(object: &Object<'o>) -> Option<Cow<'o, str>> {
    let is_aside =
        |(name, _): (&str, &str)| matches!(name, "errors" | "meta" | "links" | "jsonapi");
    let mut errors = items(
        object
            .member("errors")
            .filter(|_| object.members().all(is_aside))?,
    );
    let error = errors.next()?;
    let status = unquote(member(error, &["status"])?);
    let is_failure = status
        .parse()
        .is_ok_and(|status: u32| (400..600).contains(&status));
    is_failure.then(|| words(error, &["detail", "title"]))?
}

/// How far in a document in XML its kind is looked for.
const KIND_BYTES_MAX: usize = 512;

/// The tags between which the faults of SOAP and XML-RPC say what went wrong.
const TAGS: [&str; 3] = ["<faultstring", "<soap:Text", "<name>faultString</name>"];

/// What went wrong, by a document in XML that is a fault of SOAP or of XML-RPC.
pub(super) fn fault_in_xml(text: &str) -> Option<&str> {
    let start = cut(text, KIND_BYTES_MAX);
    let is_fault =
        start.starts_with('<') && (start.contains("Fault>") || start.contains("<fault>"));
    let mut tags = TAGS.iter().filter(|_| is_fault);
    let said = tags.find_map(|tag| text.split_once(tag))?.1;
    // The words stand behind the last of the tags before them.
    let mut parts = said
        .split('>')
        .map(|part| part.split('<').next().unwrap_or_default().trim());
    parts.find(|words| words.contains(' '))
}
