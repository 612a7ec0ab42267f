//! Values as senders write them: which are one value, and what is kept of each.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use opentelemetry_proto::tonic::common::v1 as common;
use prost::Message;

use super::*;
use crate::engine::event::{ERROR_BYTES_MAX, SAMPLE_BYTES_MAX};

const PLAIN: ToolSettings<'_> = ToolSettings::PLAIN;

/// Whether it is done soon, unless the machine has something else to do each time.
pub(super) fn is_soon(job: impl Fn()) -> bool {
    (0..3).any(|_| {
        let began = Instant::now();
        job();
        began.elapsed() < Duration::from_secs(5)
    })
}

/// Given two spellings of one value, they have one fingerprint, and as results one masked hash.
#[track_caller]
fn check_same(first: &str, second: &str) {
    let [one, two] = [first, second].map(|text| value_of(output(ValueView::Str(text))));
    assert_eq!(one.fingerprint, two.fingerprint, "{first} and {second}");
    assert_eq!(one.masked, two.masked, "{first} and {second}");
    let [one, two] = [first, second].map(|text| value_of(input(ValueView::Str(text))));
    assert_eq!(one.fingerprint, two.fingerprint, "{first} and {second}");
}

#[track_caller]
fn check_different(first: &str, second: &str) {
    let [one, two] = [first, second].map(|text| value_of(output(ValueView::Str(text))));
    assert_ne!(one.fingerprint, two.fingerprint, "{first} and {second}");
}

fn value_of(recorded: Recorded) -> Value {
    match recorded {
        Recorded::Value(value) => value,
        other => panic!("no value but {other:?}"),
    }
}

#[test]
fn one_value_has_one_fingerprint() {
    check_same(
        r#"{"a":1,"b":[true,null]}"#,
        r#" { "b" : [true, null], "a" : 1.0 } "#,
    );
    check_same(r#"{"a":1}"#, r#"{"a":1,"b":null}"#);
    check_same(r#"{"a":1}"#, r#""{\"a\":1}""#);
    check_same(r#"{"a":1}"#, r#""\"{\\\"a\\\":1}\"""#);
    check_same(
        r#"{"args":"{\"x\":1,\"y\":2}"}"#,
        r#"{"args":{"y":2,"x":1}}"#,
    );
    check_same(r#"{"a":1e2,"b":-0.0}"#, r#"{"a":100,"b":0}"#);
    check_same(r#"{"a":"\u00e9"}"#, r#"{"a":"é"}"#);
    check_same(r#"{"\u0061":"\ud83d\ude00\/"}"#, r#"{"a":"😀/"}"#);
    check_same(r#"{"a":1E0,"b":0.10}"#, r#"{"a":1,"b":1e-1}"#);
    check_same(
        r#"{"a":1,"tool":"<Tool object at 0x7f00aa>"}"#,
        r#"{"a":1}"#,
    );
    check_same("saved", " \"saved\"\n");
}

#[test]
fn different_values_have_different_fingerprints() {
    check_different(r#"{"a":1}"#, r#"{"a":2}"#);
    check_different(r#"{"a":"1"}"#, r#"{"a":1}"#);
    check_different(r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#);
    check_different("[1,2]", "[2,1]");
    check_different("[[1],2]", "[[1,2]]");
    check_different("[]", "{}");
    check_different("[1,null]", "[1]");
    check_different(r#"{"a":[]}"#, r#"{"a":{}}"#);
    check_different(r#"{"a":""}"#, r#"{"a":null}"#);
    check_different(r#"{"a":"null"}"#, r#"{"a":null}"#);
    check_different(r#"{"a":"true"}"#, r#"{"a":true}"#);
    check_different(r#"{"a":{"b":1}}"#, r#"{"b":{"a":1}}"#);
    check_different("rust async", "Rust async");
    check_different(r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#);
}

/// Given text that is not JSON, cut off, too deep or too long, it still has a fingerprint: that of the text.
#[test]
fn anything_has_a_fingerprint() {
    check_different(r#"{"a":"#, r#"{"b":"#);
    check_same("{not json ", "{not json");
    let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(500), "]".repeat(500));
    check_different(&deep("1"), &deep("2"));
    let long = |end: &str| format!(r#"{{"a":"{}{end}"}}"#, "x".repeat(70_000));
    check_different(&long("1"), &long("2"));
    check_same(&long("1"), &long("1"));
}

/// Given structured values, they have the fingerprint of the same value in JSON text.
#[test]
fn structure_equals_text() {
    use common::any_value::Value as Any;
    let pair = |key: &str, value: Any| common::KeyValue {
        key: key.into(),
        value: Some(common::AnyValue { value: Some(value) }),
        ..common::KeyValue::default()
    };
    let list = Any::ArrayValue(common::ArrayValue {
        values: vec![common::AnyValue {
            value: Some(Any::DoubleValue(1.5)),
        }],
    });
    let span = common::KeyValueList {
        values: vec![
            pair("job", Any::StringValue("build-42".into())),
            pair("n", Any::IntValue(-3)),
            pair(
                "deep",
                Any::KvlistValue(common::KeyValueList {
                    values: vec![pair("list", list), pair("on", Any::BoolValue(true))],
                }),
            ),
        ],
    };
    let record = opentelemetry_proto::tonic::logs::v1::LogRecord {
        body: Some(common::AnyValue {
            value: Some(Any::KvlistValue(span)),
        }),
        ..Default::default()
    };
    let request = opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest {
        resource_logs: vec![opentelemetry_proto::tonic::logs::v1::ResourceLogs {
            scope_logs: vec![opentelemetry_proto::tonic::logs::v1::ScopeLogs {
                log_records: vec![record],
                ..Default::default()
            }],
            ..Default::default()
        }],
    }
    .encode_to_vec();
    let limits = crate::otlp::Limits::default();
    let view = crate::otlp::logs(&request, &limits)
        .next()
        .expect("one record")
        .expect("readable");
    let text = r#"{"deep":{"on":true,"list":[1.5]},"job":"build-42","n":-3}"#;
    assert_eq!(output(view.body), output_json(&PLAIN, text));
    let sample = value_of(input(view.body)).sample;
    assert_eq!(
        &*sample,
        r#"{"job":"build-42","n":-3,"deep":{"list":[1.5],"on":true}}"#
    );
}

#[track_caller]
fn check_empty(text: &str, expected: bool) {
    assert_eq!(
        value_of(output(ValueView::Str(text))).empty,
        expected,
        "{text}"
    );
}

#[test]
fn nothing_comes_in_many_forms() {
    for nothing in [
        "没有结果。",
        "検索結果はありません",
        "검색 결과 없음",
        "Ничего не найдено",
        "",
        "  \n",
        "null",
        "None",
        "[]",
        "{}",
        "\"\"",
        r#"{"results": []}"#,
        r#""{\"results\": []}""#,
        r#"{"results":[],"total":0,"query":"rust async"}"#,
        r#"{"users":[],"page":1,"has_more":false}"#,
        r#"{"page":9,"items":[],"has_more":true,"total":96}"#,
        r#"{"page_no":9,"items":[],"total":96}"#,
        r#"{"output":"","exit_code":0}"#,
        r#"{"data":{"items":[]},"status":"ok"}"#,
        r#"{"result":null}"#,
        r#"{"content":[{"type":"text","text":"{\"results\": []}"}],"isError":false}"#,
        r#"{"message":"No results found."}"#,
        r#"{"found":false,"message":"That is nobody we know."}"#,
        r#"{"found":false,"customer":null}"#,
        "Sorry, I have no information on that.",
        "No matches found",
        "Found 0 results",
        "File not found: a.md",
        "<feed><updated>2026-01-15T10:00:00Z</updated><opensearch:totalResults>0</opensearch:totalResults></feed>",
        "<rss xmlns:o=\"http://a9.com/-/spec/\"><o:totalResults xmlns:o=\"x\"> 0</o:totalResults></rss>",
        "nothing found for \"x\"",
        r#"[{"rows":[]}]"#,
        r#"{"preview":false,"results":[],"fields":[],"sid":"1796536000.4711"}"#,
        "Aucun élément trouvé pour q=x",
        r#"{"hits":0,"results":[]}"#,
        r#"{"ok":true,"messages":{"total":0,"matches":[]}}"#,
        r#"{"flights":[],"took_ms":12,"page":1}"#,
        r#"{"flights":[],"errors":[]}"#,
        r#"{"results":[],"warnings":[]}"#,
        "No good DuckDuckGo Search Result was found",
        "No web results found.",
        "No articles found for your search.",
        "0 articles found.",
        "No parts match your query.",
        "Nothing matched your search.",
        "I could not find any relevant information.",
        "Empty set (0.00 sec)",
        r#"{"statusCode":200,"body":[]}"#,
        "Sorry, we couldn't find anything for that search.",
        "Your search - x - did not match any documents.",
        "Empty DataFrame\nColumns: [a, b]\nIndex: []",
        "Es wurden keine Ergebnisse gefunden.",
        "No se encontraron resultados.",
        r#"{"message":"没有找到相关结果。","results":[]}"#,
        "抱歉，没有符合条件的记录。",
        "查询结果为空",
        "文件找不到",
        "查無此人",
        "일치하는 항목이 없습니다.",
        "파일을 찾지 못했습니다",
        "По вашему запросу ничего не найдено.",
        "Файл не найден",
        "Данные отсутствуют",
        "За запитом нічого не знайдено",
        "Δεν βρέθηκαν αποτελέσματα",
        "لم يتم العثور على نتائج",
        "לא נמצאו תוצאות",
        "कोई परिणाम नहीं मिला",
        "ไม่พบข้อมูล",
        "Không tìm thấy kết quả nào",
        "Tidak ada hasil",
        "Data tidak ditemukan.",
        "Eşleşen kayıt bulunamadı",
        "0 résultat pour « x »",
        "Rien n'a été trouvé.",
        "Document introuvable",
        "Não foram encontrados resultados",
        "Sem resultados",
        "No se han encontrado coincidencias.",
        "Nessun dato disponibile",
        "Datei nicht gefunden",
        "Niets gevonden",
        "Brak wyników",
        "Inga träffar",
        "Nincs találat",
        r#"{"responseHeader":{"status":0,"QTime":7,"params":{"q":"x"}},"response":{"numFound":0,"start":0,"docs":[]}}"#,
    ] {
        check_empty(nothing, true);
    }
}

#[test]
fn something_is_not_nothing() {
    for something in [
        r#"{"items":[],"total":96}"#,
        r#"{"page":9,"items":["a"],"total":96}"#,
        r#"{"page":9,"total":96}"#,
        "0",
        "false",
        "saved",
        "100 results",
        "Found 10 results",
        "1,000 results",
        "piano results",
        r#"{"count":0}"#,
        r#"{"result":0}"#,
        r#"{"result":false}"#,
        r#"{"results":[],"answer":"42"}"#,
        r#"{"results":[],"total":12}"#,
        r#"{"page_count":3,"errors":[]}"#,
        r#"{"text":"","page_count":3}"#,
        r#"{"data":[1],"results":[]}"#,
        r#"{"ok":true}"#,
        r#"{"found":true,"message":"That is nobody we know."}"#,
        r#"{"found":false,"suggestions":["Ann"]}"#,
        r#"{"stdout":"","exit_code":0}"#,
        r#"{"balance":48211,"holds":[]}"#,
        r#"{"score":40,"red_flags":[]}"#,
        r#"{"humidity":40.5,"alerts":[]}"#,
        r#"{"language":"en","confidence":1.5,"alternatives":[]}"#,
        r#"{"valid":true,"errors":[]}"#,
        r#"{"violations":[]}"#,
        r#"{"duplicates":[],"folder":"/photos"}"#,
        r#"{"findings":[]}"#,
        "No problem: the file was found by accident",
        "10 résultats",
        "Brakes were checked",
        "Ohne Fehler gefunden",
        "Seminar results",
        "找到 3 条结果",
        "没有问题",
        "문제가 없습니다",
        "Найдено 12",
        "พบ 3 รายการ",
        "No vulnerabilities found.",
        "No duplicate invoices found",
        "No allergens found.",
        "No broken requirements found.",
        "no leaks found",
        r#"{"data":null,"message":"Order 7 cancelled"}"#,
        "[0]",
        "The page says that the file was not found, and then goes on at some length about what to do next.",
    ] {
        check_empty(something, false);
    }
}

/// Given hits in a list that are the same but for their scores, the results are; a score elsewhere, or beside no passage, is
/// what was asked for.
#[test]
fn scores_of_hits_are_no_news() {
    let passage = "Paragraph 7 says what holds between both sides";
    let masked =
        |value: serde_json::Value| value_of(output(ValueView::Str(&value.to_string()))).masked;
    let hit = |score: f64| serde_json::json!([{"text": passage, "page": 7, "score": score, "distance": 1.0 - score}]);
    assert_eq!(masked(hit(0.71)), masked(hit(0.5)));
    assert_eq!(masked(hit(0.71)), masked(hit(0.0)));
    assert_ne!(masked(hit(0.71)[0].take()), masked(hit(0.5)[0].take()));
    let parts = |score: f64| serde_json::json!([{"text": passage, "score": {"bm25": score}}]);
    assert_eq!(masked(parts(0.71)), masked(parts(0.5)));
    let named = |score: f64| serde_json::json!([{"name": "f1", "score": score}]);
    assert_ne!(masked(named(0.71)), masked(named(0.5)));
}

/// Given an element of a page in one snapshot and in the next one, it is the same; another one is another, and so is what only
/// looks like one.
#[test]
fn elements_are_the_same_in_each_snapshot() {
    let same = |one: &str, two: &str| {
        let [one, two] = [one, two].map(|text| value_of(input(ValueView::Str(text))));
        one.fingerprint == two.fingerprint
    };
    assert!(same(r#"{"uid":"3_12"}"#, r#"{"uid":"14_12"}"#));
    assert!(same(
        r#"{"ref":"s3e12","element":"Pay"}"#,
        r#"{"ref":"s4e12","element":"Pay"}"#
    ));
    for (one, two) in [
        (r#"{"uid":"3_12"}"#, r#"{"uid":"3_13"}"#),
        (r#"{"ref":"e12"}"#, r#"{"ref":"e13"}"#),
        (r#"{"month":"3_12"}"#, r#"{"month":"4_12"}"#),
        (r#"[{"uid":3},"3_12"]"#, r#"[{"uid":3},"4_12"]"#),
        (r#"{"uid":"33333_12"}"#, r#"{"uid":"44444_12"}"#),
    ] {
        assert!(!same(one, two), "{one} {two}");
    }
}

/// Given a word in the place of a picture, the result is not known; of arguments, and in a sentence, it is a word.
#[test]
fn pictures_that_were_left_out_are_not_known() {
    for left_out in ["[image]", "<Screenshot>", "\"[image]\"", "(picture)"] {
        let output = output_json(&ToolSettings::PLAIN, left_out);
        assert_eq!(output, Recorded::Redacted, "{left_out}");
    }
    for told in ["image", "[an image]", "[image] saved", "<img>"] {
        let output = output_json(&ToolSettings::PLAIN, told);
        assert!(output.value().is_some(), "{told}");
    }
    assert!(
        input_json(&ToolSettings::PLAIN, "[image]")
            .value()
            .is_some()
    );
}

/// Given a verdict, a state, or what systemd shows of a unit, it says no where that has failed; what an item of a list says is
/// that of the item.
#[test]
fn what_says_no() {
    let check = |result: &str, expected: bool| {
        let output = output_json(&ToolSettings::PLAIN, result);
        assert_eq!(
            output.value().map(|value| value.denies),
            Some(expected),
            "{result}"
        );
    };
    for no in [
        r#"{"passed":false,"issue":"a word is missing"}"#,
        r#"{"succeeded":false,"errors":["a word is missing"],"warnings":3}"#,
        r#"{"state":"FAILED","task":"load"}"#,
        r#"{"run":{"status":"error"}}"#,
        r#"{"conclusion":"failure","head":"3f2a91c"}"#,
        r#"{"review":{"verdict":"CHANGES_REQUESTED"}}"#,
        "test\tfail\t1m3s\nlint\tpass\t9s",
        "X main CI \u{b7} 4711\nTriggered via push",
        "\u{d7} api.service - API\n  Active: failed (Result: exit-code)",
        "\u{25cf} api.service - API\n  Active: activating (auto-restart)",
    ] {
        check(no, true);
    }
    for other in [
        r#"{"passed":true}"#,
        r#"{"state":"running"}"#,
        r#"{"title":"failed"}"#,
        r#"{"runs":[{"status":"failed"}]}"#,
        r#"{"open":false}"#,
        "\u{25cf} api.service - API\n  Active: active (running)",
        "it failed",
    ] {
        check(other, false);
    }
}

/// Given a key that is drawn anew for each call, it is no part of what is asked.
#[test]
fn keys_that_are_drawn_do_not_count() {
    let read = |arguments| input_json(&ToolSettings::PLAIN, arguments);
    let plain = read(r#"{"amount":5}"#);
    assert_eq!(read(r#"{"amount":5,"idempotency_key":"a1"}"#), plain);
    assert_eq!(read(r#"{"clientToken":"b2","amount":5}"#), plain);
    assert_ne!(read(r#"{"amount":5,"request_id":"R-12"}"#), plain);
}

/// Given what an agent thinks, numbers beside it count its thoughts and say nothing; of any other tool they are what is asked for.
#[test]
fn thoughts_are_the_same_whatever_their_number() {
    let told = |tool: &str, thought: &str, number: u32| {
        let how = ToolSettings { tool, ..PLAIN };
        let json = format!(
            r#"{{"thought":"{thought}","thoughtNumber":{number},"totalThoughts":{},"next":true}}"#,
            number + 2
        );
        value_of(input_json(&how, &json))
    };
    for tool in ["sequentialthinking", "mcp__thinking__sequential_thinking"] {
        let (first, second) = (
            told(tool, "look at step 1", 1),
            told(tool, "look at step 1", 2),
        );
        assert_eq!(first.fingerprint, second.fingerprint);
        assert_eq!(first.sample, second.sample);
        let other = told(tool, "look at step 2", 2);
        assert_ne!(first.fingerprint, other.fingerprint);
    }
    let page = |number| told("search_notes", "look at step 1", number).fingerprint;
    assert_ne!(page(1), page(2));
}

/// Given arguments, a search for "not found" is not empty, nor are arguments of empty members.
#[test]
fn arguments_are_empty_only_when_there_are_none() {
    for (text, expected) in [
        ("{}", true),
        ("", true),
        ("not found", false),
        (r#"{"results":[]}"#, false),
    ] {
        assert_eq!(
            value_of(input(ValueView::Str(text))).empty,
            expected,
            "{text}"
        );
    }
}

#[track_caller]
pub(super) fn check_masked(first: &str, second: &str, expected: bool) {
    let [one, two] = [first, second].map(|text| value_of(output(ValueView::Str(text))));
    assert_ne!(one.fingerprint, two.fingerprint);
    assert_eq!(one.masked == two.masked, expected, "{first} and {second}");
}

#[test]
fn volatile_parts_do_not_make_a_result_new() {
    check_masked(
        r#"{"s":"pending","at":1795294538}"#,
        r#"{"s":"pending","at":1795294601}"#,
        true,
    );
    check_masked(
        r#"{"s":"up","duration_ms":12}"#,
        r#"{"s":"up","duration_ms":431}"#,
        true,
    );
    check_masked("FAILED in 0.35s", "FAILED in 0.41s", true);
    check_masked(
        r#"{"at":"2026-11-21T20:55:37Z"}"#,
        r#"{"at":"2026-11-21T20:56:37Z"}"#,
        true,
    );
    check_masked(r#"{"done":"5%"}"#, r#"{"done":"6%"}"#, false);
    check_masked(r#"{"failed":5}"#, r#"{"failed":4}"#, false);
    check_masked("5 failed in 0.35s", "4 failed in 0.35s", false);
    check_masked(r#"{"offset":4096}"#, r#"{"offset":8192}"#, false);
}

#[track_caller]
fn check_sample(text: &str, expected: &str) {
    assert_eq!(&*value_of(input(ValueView::Str(text))).sample, expected);
}

#[test]
fn samples_are_short_clean_and_in_order() {
    check_sample(r#"{ "b" : 1, "a" : "x  y" }"#, r#"{"b":1,"a":"x y"}"#);
    check_sample(r#"{"a":null,"b":[1, 2.5,null]}"#, r#"{"b":[1,2.5,null]}"#);
    check_sample(
        r#"{"a":1,"password":"hunter2","b":2}"#,
        r#"{"a":1,"password":"[redacted]","b":2}"#,
    );
    check_sample(
        r#"{"auth":{"user":"x"},"b":2}"#,
        r#"{"auth":"[redacted]","b":2}"#,
    );
    check_sample(
        r#"{"env":[{"name":"DB_PASS","value":"x1"},{"name":"HOST","value":"x2"}]}"#,
        r#"{"env":[{"name":"DB_PASS","value":"[redacted]"},{"name":"HOST","value":"x2"}]}"#,
    );
    check_sample(
        r#"{"env":[{"value":"x1","name":"DB_PASS"},{"value":"x2","name":"HOST"}],"value":"x3","key":"k","name":"TOKEN"}"#,
        r#"{"env":[{"value":"[redacted]","name":"DB_PASS"},{"value":"x2","name":"HOST"}],"value":"[redacted]","key":"k","name":"TOKEN"}"#,
    );
    check_sample(
        r#"{"name":"TOKEN","key":"k","val":"x1","field":"pw","fields":[{"name":"a","type":"password","value":"x2"}]}"#,
        r#"{"name":"TOKEN","key":"k","val":"[redacted]","field":"pw","fields":[{"name":"a","type":"password","value":"[redacted]"}]}"#,
    );
    check_sample(
        r#"{"ref":"e5","element":"Password field","text":"x1"}"#,
        r#"{"ref":"e5","element":"Password field","text":"[redacted]"}"#,
    );
    check_sample(
        r##"{"text":"x1","selector":"#password"}"##,
        r##"{"text":"[redacted]","selector":"#password"}"##,
    );
    check_sample(
        r#"{"use_auth":true,"is_secret":false,"secret":"x1"}"#,
        r#"{"use_auth":true,"is_secret":false,"secret":"[redacted]"}"#,
    );
    check_sample(
        r#"{"args":["--password","x1","--token","-v","--host","x2"]}"#,
        r#"{"args":["--password","[redacted]","--token","-v","--host","x2"]}"#,
    );
    for (list, expected) in [
        (
            r#"["zip","-r","-P","x1","a.zip","b"]"#,
            r#"["zip","-r","-P","[redacted]","a.zip","b"]"#,
        ),
        (
            r#"["/bin/unzip","-Px1","a.zip"]"#,
            r#"["/bin/unzip","[redacted]","a.zip"]"#,
        ),
        (
            r#"["7z","a","-px1","a.7z"]"#,
            r#"["7z","a","[redacted]","a.7z"]"#,
        ),
        (
            r#"["docker","exec","db","mysql","-uroot","-px1","shop"]"#,
            r#"["docker","exec","db","mysql","-uroot","[redacted]","shop"]"#,
        ),
        (
            r#"["sshpass","-p","x1","ssh","-p","22","h"]"#,
            r#"["sshpass","-p","[redacted]","ssh","-p","[redacted]","h"]"#,
        ),
        (
            r#"["redis-cli","-a","x1","ping"]"#,
            r#"["redis-cli","-a","[redacted]","ping"]"#,
        ),
        (
            r#"["sqlplus","-S","a/x1@db","@b/c"]"#,
            r#"["sqlplus","-S","[redacted]","@b/c"]"#,
        ),
        (
            r#"["curl","-u","a:x1","-b","s=x2"]"#,
            r#"["curl","-u","[redacted]","-b","[redacted]"]"#,
        ),
    ] {
        check_sample(list, expected);
    }
    for kept in [
        r#"["unzip -P","-P","x1"]"#,
        r#"["mkdir","-p","zip/b"]"#,
        r#"["grep","-P","a b","zip"]"#,
        r#"["docker","run","-p","80:80","-u","1:1","mysql"]"#,
        r#"["mysql","-p","shop","-P",3306]"#,
        r#"["sqlplus","/","as","sysdba"]"#,
        r#"["curl","-b","cookies.txt","a/b"]"#,
        r#"["unzip","-p","a.zip","b"]"#,
    ] {
        check_sample(kept, kept);
    }
    check_sample("find  the\ndocs", "find the docs");
    check_sample("[not json", "[not json");
    check_sample(r#"{"a":1} x"#, r#"{"a":1} x"#);
    check_sample(
        r#"{"q":"mail a@example.com"}"#,
        r#"{"q":"mail [redacted]"}"#,
    );
    check_sample(
        r#"{"a@b.co":1,"sk-abcdefghijklmnop1234":2}"#,
        r#"{"[redacted]":1,"[redacted]":2}"#,
    );
    let long = value_of(input(ValueView::Str(&"word ".repeat(500)))).sample;
    assert!(long.len() <= SAMPLE_BYTES_MAX);
}

/// Given a list of arguments in which a word of a program says that a secret follows, it is hidden; other lists stay.
#[test]
fn secrets_behind_words_in_lists_are_hidden() {
    for (list, expected) in [
        (
            r#"["mysqladmin","-u","root","password","x1"]"#,
            r#"["mysqladmin","-u","root","password","[redacted]"]"#,
        ),
        (
            r#"["sudo","/sbin/usermod","-p","x1","bob"]"#,
            r#"["sudo","/sbin/usermod","-p","[redacted]","bob"]"#,
        ),
        (
            r#"["dotnet","user-secrets","set","a:b","x1"]"#,
            r#"["dotnet","user-secrets","set","a:b","[redacted]"]"#,
        ),
        (
            r#"["redis-cli","-h","c","AUTH","bob","x1"]"#,
            r#"["redis-cli","-h","c","AUTH","[redacted]","[redacted]"]"#,
        ),
        (
            r#"["redis-cli","CONFIG","SET","requirepass","x1"]"#,
            r#"["redis-cli","CONFIG","SET","requirepass","[redacted]"]"#,
        ),
        (
            r#"["vault","login","-no-store","x1"]"#,
            r#"["vault","login","-no-store","[redacted]"]"#,
        ),
        (
            r#"["net","user","bob","x1","/add"]"#,
            r#"["net","user","bob","[redacted]","/add"]"#,
        ),
    ] {
        check_sample(list, expected);
    }
    for kept in [
        r#"["net","user","/domain"]"#,
        r#"["docker","login","--password-stdin","reg.io"]"#,
        r#"["login","user","password","set","AUTH","requirepass"]"#,
        r#"["usermod","-aG","sudo","bob"]"#,
    ] {
        check_sample(kept, kept);
    }
}

/// Given two secrets, their samples are equal and their fingerprints are not.
#[test]
fn fingerprints_are_over_the_true_value() {
    let [one, two] = ["one", "two"]
        .map(|secret| value_of(input_json(&PLAIN, &format!(r#"{{"token":"{secret}"}}"#))));
    assert_eq!(one.sample, two.sample);
    assert_ne!(one.fingerprint, two.fingerprint);
}

#[test]
fn markers_are_not_values() {
    for marker in [
        "__REDACTED__",
        "[REDACTED]",
        "<redacted>",
        "\"__REDACTED__\"",
        "HIDDEN:non-empty",
        "redacted-by-litellm",
        "***REDACTED***",
        "[Filtered]",
        "<masked>",
        "{{hidden}}",
        "****",
        "[Scrubbed due to 'password']",
    ] {
        assert_eq!(input(ValueView::Str(marker)), Recorded::Redacted);
        assert_eq!(output_json(&PLAIN, marker), Recorded::Redacted);
    }
    for partial in [
        r#"{"query":"[REDACTED]","limit":5}"#,
        r#"{"filter":{"names":["a","****"]}}"#,
        r#"{"arguments":"{\"query\":\"<masked>\"}"}"#,
    ] {
        assert_eq!(input_json(&PLAIN, partial), Recorded::Redacted, "{partial}");
        value_of(output_json(&PLAIN, partial));
    }
    for whole in [
        r#"{"user":"bob","password":"****"}"#,
        r#"{"query":"what does [REDACTED] mean"}"#,
    ] {
        value_of(input_json(&PLAIN, whole));
    }
    for text in ["hidden", "masked", "[]", "{}", "**", "---", "[removed]"] {
        assert_ne!(output_json(&PLAIN, text), Recorded::Redacted, "{text}");
    }
    assert_eq!(input(ValueView::Empty), Recorded::NotRecorded);
    assert_eq!(output(ValueView::Empty), Recorded::NotRecorded);
}

#[test]
fn failures_are_the_same_failure_again() {
    let one = failure("ConnectionError: refused after 0.35s (pid 12)");
    let two = failure("ConnectionError: refused after 0.41s (pid 13)");
    assert_eq!(one.masked, two.masked);
    assert_ne!(one.masked, failure("TimeoutError").masked);
    assert_eq!(
        &*failure("bad key sk-abcdefghijklmnop1234").text,
        "bad key [redacted]"
    );
    assert!(failure(&"x".repeat(900)).text.len() <= ERROR_BYTES_MAX);
}

#[test]
fn names_are_short_and_ids_keep_their_parts_apart() {
    assert_eq!(&*name("  search_docs \n"), "search_docs");
    let whole = "x".repeat(NAME_BYTES_MAX);
    assert_eq!(*name(&whole), *whole);
    for length in [1, 2, NAME_BYTES_MAX, 10_000].map(|more| NAME_BYTES_MAX + more) {
        let [one, two] = ["a", "b"].map(|end| name(&format!("{:é<length$}{end}", "x")));
        assert!(one.len() <= NAME_BYTES_MAX && one != two, "{one} {two}");
    }
    let [one, two] = ["1", "2"].map(|end| name(&format!("get sk-abcdefghijklmnop123{end}")));
    assert!(
        one.starts_with("get [redacted]#") && one != two,
        "{one} {two}"
    );
    let cut_in_two = name(&format!(
        "{} sk-abcdefghijklmnop1234",
        "x".repeat(NAME_BYTES_MAX - 12)
    ));
    assert!(!cut_in_two.contains("sk-"), "{cut_in_two}");
    assert!(cut_in_two.len() <= NAME_BYTES_MAX);
    assert_ne!(id_hash(&[b"ab", b"c"]), id_hash(&[b"a", b"bc"]));
    assert_ne!(id_hash(&[b"a"]), id_hash(&[b"a", b""]));
}

/// JSON that can be written in more than one way.
#[derive(Clone, Debug, PartialEq)]
enum Json {
    Null,
    Flag(bool),
    Number(i32),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

impl Json {
    fn write(&self, reverse: bool, blank: &str, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Flag(flag) => out.push_str(&flag.to_string()),
            Self::Number(number) if reverse => {
                out.push_str(&number.to_string());
                out.push_str(".0");
            }
            Self::Number(number) => out.push_str(&number.to_string()),
            Self::Text(text) => {
                out.push_str(&serde_json::to_string(text).expect("a text is JSON"));
            }
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push_str(blank);
                    item.write(reverse, blank, out);
                }
                out.push(']');
            }
            Self::Map(members) => {
                out.push('{');
                let mut order: Vec<_> = members.iter().collect();
                if reverse {
                    order.reverse();
                }
                for (index, (key, value)) in order.into_iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push_str(blank);
                    for part in ["\"", key.as_str(), "\"", blank, ":"] {
                        out.push_str(part);
                    }
                    value.write(reverse, blank, out);
                }
                out.push('}');
            }
        }
    }

    fn text(&self, reverse: bool, blank: &str) -> String {
        let mut out = String::new();
        self.write(reverse, blank, &mut out);
        out
    }

    /// Members sorted and null members dropped, to tell whether two values are one.
    fn canonical(&self) -> Self {
        match self {
            Self::List(items) => Self::List(items.iter().map(Self::canonical).collect()),
            Self::Map(members) => {
                let mut members: Vec<_> = members
                    .iter()
                    .filter(|(_, value)| *value != Self::Null)
                    .map(|(key, value)| (key.clone(), value.canonical()))
                    .collect();
                members.sort_by(|one, two| one.0.cmp(&two.0));
                Self::Map(members)
            }
            other => other.clone(),
        }
    }
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Flag),
        (-3..3_i32).prop_map(Json::Number),
        "[a-c \n\"é]{0,4}".prop_map(Json::Text),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::List),
            prop::collection::btree_map("[a-d]{1,2}", inner, 0..4)
                .prop_map(|members| Json::Map(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Given any value, neither the order of members, nor blanks, nor encoding it twice changes what is kept of it
    /// apart from the sample.
    #[test]
    fn spelling_never_matters(value in json()) {
        let value = Json::List(vec![value]);
        let plain = value.text(false, "");
        let other = value.text(true, " \n");
        let twice = serde_json::to_string(&other).expect("a text is JSON");
        prop_assert_eq!(output_json(&PLAIN, &plain), output_json(&PLAIN, &other));
        prop_assert_eq!(output_json(&PLAIN, &plain), output_json(&PLAIN, &twice));
        prop_assert_eq!(
            value_of(input_json(&PLAIN, &plain)).fingerprint,
            value_of(input_json(&PLAIN, &twice)).fingerprint
        );
    }

    /// Given two values that differ, so do their fingerprints.
    #[test]
    fn different_values_differ(one in json(), two in json()) {
        let (one, two) = (Json::List(vec![one]), Json::List(vec![two]));
        let [first, second] = [&one, &two].map(|value| value_of(output_json(&PLAIN, &value.text(false, ""))));
        prop_assert_eq!(first.fingerprint == second.fingerprint, one.canonical() == two.canonical());
    }

    /// Given a list, its items are found from the end as from the start, up to one that is no object.
    #[test]
    fn items_are_the_same_from_both_ends(list in prop::collection::vec(json(), 0..5)) {
        let items: Vec<_> = list.iter().map(|value| value.text(false, " ")).collect();
        let text = format!("[{}]", items.join(","));
        let objects = items.iter().rev().take_while(|item| item.starts_with('{'));
        let whole = objects.clone().count() == items.len();
        let expected: Vec<_> = objects.map(|item| Some(item.as_str())).collect();
        let mut found: Vec<_> = items_from_end(&text).collect();
        prop_assert!(whole || found.pop() == Some(None));
        prop_assert_eq!(found, expected);
    }

    /// Given any text whatever, nothing panics, and every part keeps its limit.
    #[test]
    fn any_text_is_taken(text in ".{0,400}", name in ".{0,3}") {
        let value = input(ValueView::Str(&text));
        prop_assert!(value.value().is_none_or(|value| value.sample.len() <= SAMPLE_BYTES_MAX));
        output_json(&PLAIN, &text);
        member(&text, &[&name]);
        prop_assert!(failure(&text).text.len() <= ERROR_BYTES_MAX);
    }

    /// Given JSON that is damaged at one place, nothing panics.
    #[test]
    fn damaged_json_is_taken(value in json(), at in 0..64_usize, byte in "[\\\\\"{}\\[\\],: 0é@-]") {
        let mut text = value.text(false, " ");
        let at = cut(&text, at).len();
        text.insert_str(at, &byte);
        input_json(&PLAIN, &text);
        output_json(&PLAIN, &text);
        member(&text, &["a", "b"]);
        items_from_end(&text).for_each(drop);
    }
}

/// Given a tool that hands out one thing after the other, a result that has none is none, whatever its request was called; a thing
/// with nothing but an id is another one each time.
#[test]
fn nothing_is_handed_out() {
    let id = [
        "6b1b7634-8ae2-4e0b-963b-3ac4dd65adc8",
        "1b28d3bb-9a05-465d-a0d3-62f17f71d816",
    ];
    let read = |form: &str| {
        id.map(|id| {
            let answer = answer_json(
                &ToolSettings::PLAIN,
                ResultKind::HandedOut,
                &form.replace("ID", id),
                &Arguments::of(r#"{"queue":"q"}"#),
            );
            answer.value().expect("a result").clone()
        })
    };
    for form in [
        r#"{"Messages":[],"ResponseMetadata":{"RequestId":"ID"}}"#,
        r#"{"Messages":[],"RequestId":"ID"}"#,
    ] {
        let [one, other] = read(form);
        assert!(one.empty && other.empty, "{form}");
    }
    let [one, other] = read(r#""No messages. RequestId: ID""#);
    assert_eq!(one.masked, other.masked);
    let [one, other] = read(r#"{"Messages":[{"MessageId":"ID"}]}"#);
    assert!(!one.empty && one.masked != other.masked);
}
