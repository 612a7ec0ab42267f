//! The sentences by which a short result says that it holds nothing, in English and other languages.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Sentences that say so, also in other languages, as far as they begin with letters that English has. They must stand as words
/// of their own: neither "100 results" nor "piano results" is nothing. Each begins as [`may_say`] knows.
const NOTHING: [&str; 86] = [
    "did not match any",
    "find anything",
    "not find any",
    "nothing matched",
    "no results",
    "no result",
    "no matches",
    "no match",
    "not found",
    "nothing found",
    "none found",
    "0 result",
    "0 résultat",
    "0 ergebnisse",
    "0 treffer",
    "0 risultati",
    "0 результатов",
    "0 hasil",
    "0 kết quả",
    "0 sonuç",
    "0 matches",
    "0 rows",
    "0 products",
    "0 items",
    "no files found",
    "no data",
    "no documents",
    "no information",
    "no records",
    "no items",
    "no rows",
    "no products",
    "no hits",
    "no output",
    "no content",
    "no response",
    "no reply",
    "no answer",
    "no more results",
    "no further results",
    "nothing to do",
    "keine ergebnisse",
    "kein ergebnis",
    "keine treffer",
    "keine daten",
    "keine dokumente",
    "nichts gefunden",
    "nicht gefunden",
    "aucune correspondance",
    "introuvable",
    "sin resultados",
    "no se encontraron",
    "no se han encontrado",
    "no se ha encontrado",
    "no hay resultados",
    "no hay datos",
    "no existen resultados",
    "nessun risultato",
    "nessun dato",
    "nessuna corrispondenza",
    "non trovat",
    "nenhum resultado",
    "nenhum dado",
    "nenhum registro",
    "sem resultados",
    "nada encontrado",
    "geen resultaten",
    "geen gegevens",
    "niets gevonden",
    "niet gevonden",
    "nie znaleziono",
    "brak danych",
    "nenalezeno",
    "ingen resultat",
    "inga resultat",
    "ingen treff",
    "hittades inte",
    "ikke fundet",
    "ikke funnet",
    "ei tuloksia",
    "niciun rezultat",
    "tidak ditemukan",
    "tidak ada hasil",
    "tidak ada data",
    "tidak ada rekod",
    "veri yok",
];

const _: () = {
    let mut at = 0;
    while at < NOTHING.len() {
        let words = NOTHING[at].as_bytes();
        assert!(
            may_say(words[0], words[1]),
            "`may_say` does not know a beginning"
        );
        at += 1;
    }
};

/// Sentences that say so in other languages, in lower case, in rows of some of them; each has a letter that English has not.
const ABROAD: [&str; 14] = [
    "aucun résultat|aucune donnée|pas de résultat|rien n'a été trouvé|rien trouvé|keine einträge|keine übereinstimmung",
    "ningún resultado|ningún dato|no se encontró",
    "não encontrad|não foi encontrad|não foram encontrad|não há resultados|não há dados|nenhuma correspondência",
    "brak wyników|žádné výsledky|žádný výsledek|nebyly nalezeny|inga träffar|ei löytynyt|nincs találat",
    "ничего не найдено|не найден|нет результатов|результатов нет|нет данных|данные отсутствуют|нет совпадений",
    "нічого не знайдено|не знайден|немає результатів|немає даних|δεν βρέθηκ|κανένα αποτέλεσμα",
    "bulunamadı|sonuç yok|kayıt yok|eşleşme yok",
    "لا توجد نتائج|لا توجد بيانات|لا نتائج|لم يتم العثور|לא נמצא|אין תוצאות|یافت نشد|نتیجه‌ای نیست",
    "नहीं मिल|कोई परिणाम नहीं|कोई डेटा नहीं|कोई रिकॉर्ड नहीं|কোনো ফলাফল",
    "ไม่พบ|ไม่มีข้อมูล|ไม่มีผลลัพธ์|không tìm thấy|không có kết quả|không có dữ liệu",
    "見つかりません|結果がありません|結果はありません|データはありません|データがありません|該当はありません|該当なし|ヒットしません|該当するものはありません",
    "没有找到|未找到|找不到|没有结果|没有匹配|没有符合|没有相关|没有数据|没有记录|没有查到|没有搜到|无结果|无匹配|无数据|无记录|无相关|无搜索结果|结果为空|数据为空|未查询到|未查到|未检索到|未搜索到|查无|暂无",
    "沒有找到|沒有結果|沒有符合|沒有相關|沒有資料|查無|查詢不到|無結果|無資料",
    "결과가 없|결과 없음|찾을 수 없|찾지 못|데이터가 없|항목이 없|내역이 없|자료가 없",
];

/// Finds these. Of so many, a state a byte would take a megabyte.
static SAID_ABROAD: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.kind(Some(AhoCorasickKind::ContiguousNFA));
    builder
        .build(ABROAD.iter().flat_map(|row| row.split('|')))
        .expect("a few words are no more than fit")
});

/// Whether one of the sentences stands in a short text.
pub(super) fn is_said(text: &str) -> bool {
    says_nothing(text.as_bytes()) || (!text.is_ascii() && is_said_abroad(text))
}

/// Whether one of the sentences with letters of other languages stands in the text.
fn is_said_abroad(text: &str) -> bool {
    SAID_ABROAD.is_match(&text.to_lowercase())
}

/// Whether one of the sentences stands in the text, whatever its case, with no letter, digit or decimal sign before it.
fn says_nothing(text: &[u8]) -> bool {
    let pairs = text.windows(2).enumerate();
    let mut starts = pairs.filter(|(_, pair)| may_say(pair[0], pair[1]));
    starts.any(|(at, _)| is_start(text, at) && says(&text[at..]))
}

/// Whether one of [`NOTHING`] may begin with these two signs.
const fn may_say(first: u8, second: u8) -> bool {
    matches!(
        (first.to_ascii_lowercase(), second.to_ascii_lowercase()),
        (b'n', b'o' | b'a')
            | (b'n' | b'k' | b'g' | b's' | b'v', b'e')
            | (b'n' | b's' | b'd' | b'f' | b't' | b'h' | b'e', b'i')
            | (b'i', b'n' | b'k')
            | (b'a', b'u')
            | (b'b', b'r')
            | (b'0', b' ')
    )
}

fn is_start(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map(|at| text[at]);
    !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b',' | b'.'))
}

fn says(text: &[u8]) -> bool {
    NOTHING.iter().any(|words| {
        let start = text.get(..words.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(words.as_bytes()))
    })
}
