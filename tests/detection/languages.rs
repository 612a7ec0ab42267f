//! Tools and users that speak another language than English.

use serde_json::{Value, json};

use crate::support::{check, checked};

/// A call of a search or a look, and what it brought.
fn call(tool: &str, input: &Value, output: &Value) -> Value {
    json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": input, "output": output})
}

/// Searches for one thing in other words, and what each of them was told.
fn searches(told: &str) -> Vec<Value> {
    let asked = [
        "eddy detection",
        "detection of an eddy",
        "eddy detection method",
        "how to do eddy detection",
    ];
    let calls = asked.iter().zip(told.split(" | "));
    calls
        .map(|(asked, told)| call("search", &json!({"query": asked}), &json!(told)))
        .collect()
}

/// Whether a rule warns of a run.
fn is_warned_of(events: &[Value], rule: &str) -> bool {
    let answer = checked("", events);
    let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
    warnings.iter().any(|warning| warning["rule"] == rule)
}

/// That nothing was found, in four ways in each of some languages.
const NOTHING: [&str; 19] = [
    "没有符合条件的结果 | 抱歉，没有找到匹配项 | 查询结果为空 | 暂无数据",
    "沒有找到相關資料 | 查無資料 | 查詢不到 | 沒有結果",
    "該当する結果はありません | 見つかりませんでした | 該当なし | データがありません",
    "검색 결과가 없습니다 | 일치하는 항목이 없습니다 | 찾지 못했습니다 | 데이터가 없습니다",
    "Ничего не найдено | Нет результатов | Данные отсутствуют | Результатов нет",
    "Нічого не знайдено | Немає результатів | Немає даних | Не знайдено",
    "لا توجد نتائج | لم يتم العثور على نتائج | لا توجد بيانات | لا نتائج",
    "कोई परिणाम नहीं मिला | कोई डेटा नहीं | कुछ नहीं मिला | कोई रिकॉर्ड नहीं",
    "ขออภัย ไม่พบผลลัพธ์ที่ตรงกับคำค้นหาของคุณ | ไม่พบข้อมูล | ไม่มีข้อมูล | ไม่พบรายการ",
    "Không tìm thấy kết quả | Không có dữ liệu | Không tìm thấy | 0 kết quả",
    "Tidak ada hasil | Data tidak ditemukan | Tidak ada data | 0 hasil",
    "Sonuç bulunamadı | Eşleşen kayıt bulunamadı | Veri yok | 0 sonuç",
    "Aucun résultat | Rien n'a été trouvé | Pas de résultats | 0 résultat",
    "Sin resultados | No se encontraron coincidencias | No hay datos | 0 resultados",
    "Sem resultados | Nada encontrado | Não foram encontrados registros | 0 resultados",
    "Keine Treffer | Nichts gefunden | Kein Ergebnis | 0 Ergebnisse",
    "Nessun risultato | Nessun dato | Nessuna corrispondenza | 0 risultati",
    "Geen resultaten | Niets gevonden | Geen gegevens | Niet gevonden",
    "Brak wyników | Nie znaleziono | Brak danych | Nie znaleziono",
];

/// Given searches of which each says in its language, and in other words, that nothing was found, they are in vain.
#[test]
fn searches_in_vain() {
    for row in NOTHING {
        let is_seen = is_warned_of(&searches(row), "empty_result_loop");
        assert!(is_seen, "{row}");
    }
}

/// Given one error of a tool, told in its language, whatever it is asked for, it is the same error.
#[test]
fn the_same_error() {
    for error in [
        json!("错误：连接数据库失败"),
        json!("エラー：データベースに接続できませんでした"),
        json!("処理に失敗しました。権限がありません。"),
        json!("오류: 데이터베이스에 연결할 수 없습니다"),
        json!("Ошибка: нет доступа к базе данных"),
        json!("Помилка: немає доступу до бази"),
        json!("خطأ: فشل الاتصال بقاعدة البيانات"),
        json!("त्रुटि: डेटाबेस से कनेक्ट नहीं हो सका"),
        json!("ข้อผิดพลาด: ไม่สามารถเชื่อมต่อ"),
        json!("Lỗi: không thể kết nối cơ sở dữ liệu"),
        json!("Kesalahan: basis data menolak"),
        json!("Hata: veritabanına bağlanılamadı"),
        json!("Błąd: baza danych odmawia dostępu"),
        json!("Fehler: keine Verbindung zur Datenbank"),
        json!({"ret": -1, "msg": "查询失败，参数错误"}),
        json!({"detail": "Authentication credentials are invalid."}),
    ] {
        let calls: Vec<Value> = (0..10)
            .map(|id| call("query", &json!({"id": id * 7}), &error))
            .collect();
        assert!(is_warned_of(&calls, "same_error"), "{error}");
    }
}

/// Given work on one thing after the other, it is no loop in any language.
#[test]
fn work() {
    let work = |tool: &str, all: &[(&str, Value)]| {
        let calls = all
            .iter()
            .map(|(asked, told)| call(tool, &json!({"of": asked}), told));
        check(&calls.collect::<Vec<_>>(), &[]);
    };
    let orders = ["张三", "李四", "王五", "赵六", "孙七", "周八", "吴九"];
    work(
        "get_order",
        &orders.map(|name| (name, json!({"客户": name, "状态": "已发货"}))),
    );
    let words = [
        ("河流", "river"),
        ("漩涡", "eddy"),
        ("水流", "current"),
        ("岸边", "bank"),
        ("石头", "stone"),
        ("小船", "boat"),
        ("桥", "bridge"),
    ];
    work("translate", &words.map(|(word, told)| (word, json!(told))));
    let cities = [
        ("東京", "晴れ"),
        ("大阪", "曇り"),
        ("札幌", "雪"),
        ("福岡", "雨"),
        ("名古屋", "晴れ"),
        ("仙台", "曇り"),
        ("那覇", "晴れ"),
    ];
    work(
        "weather",
        &cities.map(|(city, told)| (city, json!({"天気": told}))),
    );
    let cities = [
        ("Москва", "ясно"),
        ("Казань", "дождь"),
        ("Омск", "снег"),
        ("Пермь", "облачно"),
        ("Сочи", "ясно"),
        ("Тула", "туман"),
    ];
    work("погода", &cities.map(|(city, told)| (city, json!(told))));
    let checks = [
        ("login", "没有发现问题"),
        ("orders", "没有问题"),
        ("refunds", "未发现错误"),
        ("search", "没有错误"),
        ("mail", "没有问题"),
        ("report", "未发现问题"),
    ];
    work(
        "check_page",
        &checks.map(|(page, told)| (page, json!(told))),
    );
}

/// Given a job that is asked for now and then, and says in its language that it is under way, to wait for it is no loop; to ask
/// without a pause is one.
#[test]
fn waiting_for_a_job() {
    for told in [
        "任务正在处理中，请稍候。",
        "任務處理中，請稍候。",
        "処理中です。しばらくお待ちください。",
        "처리 중입니다. 잠시만 기다려 주세요.",
        "Задание выполняется, подождите.",
        "Завдання виконується, зачекайте.",
        "Wird noch bearbeitet, bitte warten.",
        "Traitement en cours, veuillez patienter.",
        "El pedido está en proceso.",
        "Em andamento, aguarde.",
        "Đang xử lý, vui lòng chờ.",
        "Sedang diproses, mohon tunggu.",
        "İşleniyor, lütfen bekleyin.",
        "قيد المعالجة، يرجى الانتظار",
    ] {
        let ask = |pace_ms: usize| {
            let asks = (0..8).map(|i| {
                let mut ask = call("get_job", &json!({"id": "j1"}), &json!(told));
                ask["t_ms"] = json!(1_790_000_000_000 + i * pace_ms);
                ask["duration_ms"] = json!(100);
                ask
            });
            asks.collect::<Vec<_>>()
        };
        check(&ask(20_000), &[]);
        let is_seen = is_warned_of(&ask(200), "repeated_tool_call_exact_input");
        assert!(is_seen, "{told}");
    }
}
