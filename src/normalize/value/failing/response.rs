//! Tells an object that is a response of HTTP's which says that the request failed: `{"status": 404, "body": …}`.
//!
//! Tools that fetch give the status as a member and do not raise. A number by itself tells nothing, and may be what was asked
//! for, as by a check of links; so there must be a body, or words, beside it.

use std::borrow::Cow;

use super::super::emptiness::is_nothing;
use super::super::{Object, items, member, unquote};
use super::complaint::refuses;
use super::turned_away::words_alone;

/// Members that hold the status.
const STATUS: [&str; 4] = ["status", "status_code", "statusCode", "code"];

/// Members that hold what came with it.
const BODIES: [&str; 5] = ["body", "data", "content", "text", "response"];

/// Members that say in words what went wrong, here or in the body.
const WORDS: [&str; 8] = [
    "message",
    "msg",
    "error",
    "error_message",
    "err",
    "detail",
    "title",
    "text",
];

/// The statuses of what is not there.
const ABSENT: [&str; 2] = ["404", "410"];

/// What went wrong with a call, as its result tells it: a response that failed, a request that does not fit, or an error of the
/// tool's own.
pub(super) fn error_told(response: &Object<'_>, arguments: &str) -> Option<String> {
    response_error(response, arguments)
        .or_else(|| misfits(response))
        .or_else(|| words_alone(response))
        .or_else(|| own_error(response))
}

/// What went wrong with a request, by the response to it, its status first; `None` of anything else. Of what is not there, it says
/// what that is, as clients do that raise: it is another error for each address.
fn response_error(response: &Object<'_>, arguments: &str) -> Option<String> {
    let mut all = STATUS.iter();
    let (name, status) = all.find_map(|name| Some((*name, response.member(name)?)))?;
    if status.len() != 3 || !(400..600_u32).contains(&status.parse().ok()?) {
        return None;
    }
    let said = said_in(response);
    // A code without words may be one of the tool's own.
    if name == "code" && said.is_none() {
        return None;
    }
    let in_body = || {
        let body = unquote(response.first_of(&BODIES)?);
        let said = said_in(&Object::of(&body)).map(Cow::into_owned);
        Some(said.map_or(body, Cow::Owned))
    };
    let errors = || {
        response
            .member("errors")
            .filter(|errors| !is_nothing(errors))
    };
    let words = said
        .or_else(in_body)
        .or_else(|| errors().map(Cow::Borrowed))?;
    let address = member(arguments, &["url"]).filter(|_| ABSENT.contains(&status));
    Some(match address {
        Some(address) => format!("{status} {words} for url: {}", unquote(address)),
        None => format!("{status} {words}"),
    })
}

/// What went wrong with a call, by the code and the words of the tool's own in which it answers:
/// `{"errcode": 40001, "errmsg": "…"}`, as `WeChat` and `DingTalk` do. Of a name that says less, the words have to
/// refuse: `{"code": 10013, "msg": "无效的参数"}`.
fn own_error(response: &Object<'_>) -> Option<String> {
    let is_fault = |code: &&str| {
        let code = code.trim_matches('"');
        code.parse()
            .is_ok_and(|code: i64| code != 0 && !(200..300).contains(&code))
    };
    let code_of = |names: &[&str]| response.first_of(names).filter(is_fault);
    let plain = code_of(&ERROR_CODES);
    let code = plain.or_else(|| code_of(&["code", "ret", "cod"]))?;
    let words = unquote(response.first_of(&ERROR_WORDS)?);
    let tells = words.len() > 2 && (plain.is_some() || refuses(&words));
    tells.then(|| format!("{code} {words}"))
}

/// Members that hold the code of an error and nothing else, and those that hold the words beside it.
const ERROR_CODES: [&str; 6] = [
    "errcode",
    "errCode",
    "err_code",
    "error_code",
    "errorCode",
    "retcode",
];
const ERROR_WORDS: [&str; 8] = [
    "errmsg",
    "errMsg",
    "err_msg",
    "error_msg",
    "errorMsg",
    "errorMessage",
    "msg",
    "message",
];

/// What `FastAPI` says of a request that does not fit, `{"detail": [{"loc": ["body", "to"], "msg": "Field required", …}]}`, as
/// the members that it is about and what is wrong with each.
fn misfits(response: &Object<'_>) -> Option<String> {
    let (name, all) = response.members().next()?;
    if name != "detail" || !all.starts_with('[') {
        return None;
    }
    let told = items(all).map(|item| {
        let [place, said] = ["loc", "msg"].map(|name| member(item, &[name]));
        Some(format!("{} {}", place?, unquote(said?)))
    });
    let told: Vec<String> = told.collect::<Option<_>>()?;
    (!told.is_empty()).then(|| told.join("; "))
}

/// What an object says in words of what went wrong.
fn said_in<'a>(object: &Object<'a>) -> Option<Cow<'a, str>> {
    let mut all = WORDS.iter();
    let text = |name: &&str| object.member(name).filter(|value| value.starts_with('"'));
    all.find_map(text).map(unquote)
}

#[cfg(test)]
mod tests {
    use super::{Object, misfits, own_error, response_error};

    /// Given an object, what went wrong is told where it is a response that failed.
    #[test]
    fn responses_that_failed() {
        let check = |object: &str, expected: Option<&str>| {
            let told = response_error(
                &Object::of(object),
                r#"{"url": "https://a.example/b", "timeout": 5}"#,
            );
            assert_eq!(told.as_deref(), expected, "{object}");
        };
        check(
            r#"{"status": 404, "body": {"message": "Not Found", "path": "/a"}}"#,
            Some("404 Not Found for url: https://a.example/b"),
        );
        check(
            r#"{"url":"https://a.example","status_code":503,"content":"busy"}"#,
            Some("503 busy"),
        );
        check(
            r#"{"statusCode":401,"message":"Unauthorized","body":null}"#,
            Some("401 Unauthorized"),
        );
        check(
            r#"{"code": 404, "text": "no such page"}"#,
            Some("404 no such page for url: https://a.example/b"),
        );
        check(
            r#"{"status":422,"errors":{"name":["is taken"]}}"#,
            Some(r#"422 {"name":["is taken"]}"#),
        );
        for object in [
            "{}",
            r#"{"status":422,"errors":[]}"#,
            r#"{"url":"https://a.example","status":404}"#,
            r#"{"status":200,"body":"404"}"#,
            r#"{"status":"404","body":"a page"}"#,
            r#"{"status":40400,"body":"a page"}"#,
            r#"{"code":412,"data":{"price":3}}"#,
            r#"{"order":{"status":404},"text":"a"}"#,
        ] {
            check(object, None);
        }
    }

    /// Given what `FastAPI` says of a request, that is what does not fit in it; a detail in words is told otherwise.
    #[test]
    fn requests_that_do_not_fit() {
        let said = r#"{"detail":[{"type":"missing","loc":["body","to"],"msg":"Field required","input":{"a":1}}]}"#;
        assert_eq!(
            misfits(&Object::of(said)).as_deref(),
            Some(r#"["body","to"] Field required"#)
        );
        for object in [
            r#"{"detail":"a long story"}"#,
            r#"{"detail":[]}"#,
            r#"{"detail":[{"name":"a"}]}"#,
        ] {
            assert_eq!(misfits(&Object::of(object)), None, "{object}");
        }
    }

    /// Given an object with a code of the tool's own, what went wrong is told where the code or the words leave no doubt.
    #[test]
    fn codes_of_ones_own() {
        let check = |object: &str, expected: Option<&str>| {
            assert_eq!(
                own_error(&Object::of(object)).as_deref(),
                expected,
                "{object}"
            );
        };
        check(
            r#"{"errcode":40001,"errmsg":"invalid credential"}"#,
            Some("40001 invalid credential"),
        );
        check(
            r#"{"code": 10013, "msg": "无效的参数", "data": null}"#,
            Some("10013 无效的参数"),
        );
        check(r#"{"ret":-1,"msg":"查询失败"}"#, Some("-1 查询失败"));
        check(
            r#"{"retcode":-100,"message":"Please log in"}"#,
            Some("-100 Please log in"),
        );
        check(r#"{"ret":0,"msg":"查询失败次数"}"#, None);
        check(r#"{"errcode":0,"errmsg":"ok"}"#, None);
        check(r#"{"code":0,"msg":"invalid is the count of 0"}"#, None);
        check(r#"{"code":200,"message":"no error"}"#, None);
        check(r#"{"code":7,"message":"a seventh note"}"#, None);
        check(r#"{"errorCode":"E7","errorMessage":"bad"}"#, None);
        check(r#"{"errcode":7,"errmsg":""}"#, None);
    }
}
