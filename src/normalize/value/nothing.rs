//! The sentences by which a short result says that it holds nothing, in English and other languages.

use std::sync::LazyLock;

use super::lexicon::Lexicon;

/// Sentences that say so, in lower case. They must stand as words of their own: neither "100 results" nor "piano results" is
/// nothing.
const NOTHING: [&str; 27] = [
    "did not match any|find anything|not find any|nothing matched|no results|no result|no matches|no match|not found",
    "nothing found|none found|0 result|0 matches|0 rows|0 products|0 items|no files found|no data|no documents",
    "no information|no records|no items|no rows|no products|no hits|no output|no content|no response|no reply|no answer",
    "no more results|no further results|nothing to do",
    "0 résultat|0 ergebnisse|0 treffer|0 risultati|0 результатов|0 hasil|0 kết quả|0 sonuç|keine ergebnisse",
    "kein ergebnis|keine treffer|keine daten|keine dokumente|nichts gefunden|nicht gefunden|aucune correspondance",
    "introuvable|sin resultados|no se encontraron|no se han encontrado|no se ha encontrado|no hay resultados",
    "no hay datos|no existen resultados|nessun risultato|nessun dato|nessuna corrispondenza|non trovat|nenhum resultado",
    "nenhum dado|nenhum registro|sem resultados|nada encontrado|geen resultaten|geen gegevens|niets gevonden",
    "niet gevonden|nie znaleziono|brak danych|nenalezeno|ingen resultat|inga resultat|ingen treff|hittades inte",
    "ikke fundet|ikke funnet|ei tuloksia|niciun rezultat|tidak ditemukan|tidak ada hasil|tidak ada data|tidak ada rekod",
    "veri yok",
    "aucun résultat|aucun élément|aucun enregistrement|aucun document|aucune entrée|aucune donnée|pas de résultat",
    "rien n'a été trouvé|rien trouvé|keine einträge|keine übereinstimmung",
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

static SENTENCES: LazyLock<Lexicon<()>> = LazyLock::new(|| Lexicon::of_rows(&NOTHING));

/// Whether one of the sentences stands in a short text.
pub(super) fn is_said(text: &str) -> bool {
    SENTENCES.is_said_in(text)
}

/// Words that programs write in the place of a value that they do not have, in lower case.
const NO_VALUE: [&str; 4] = ["none", "null", "nil", "n/a"];

/// Whether a text is such a word, in the place of an id or an error. As a whole result, only the first two say that there is
/// nothing.
pub(in crate::normalize) fn is_no_value(text: &str) -> bool {
    let mut words = NO_VALUE.iter();
    words.any(|word| text.eq_ignore_ascii_case(word))
}

/// Sentences by which a shell's tool says that a command printed nothing, in lower case, without brackets and points.
const NO_OUTPUT: [&str; 3] = ["no output", "no content", "empty output"];

/// How longer ones end.
const WITHOUT_OUTPUT: [&str; 4] = [
    " with no output",
    " had no output",
    " produced no output",
    " returned no output",
];

/// Whether a short text says that a command printed nothing: `(no output)`, `Command completed with no output.` That is all that
/// is told of a command that does its work without a word, as an empty text is.
pub(super) fn says_no_output(text: &str) -> bool {
    let said = text.trim_matches(|sign: char| {
        matches!(sign, '(' | ')' | '[' | ']' | '<' | '>' | '.') || sign.is_whitespace()
    });
    let ends = |end: &&str| {
        let start = said.len().checked_sub(end.len());
        let start = start.and_then(|start| said.as_bytes().get(start..));
        start.is_some_and(|start| start.eq_ignore_ascii_case(end.as_bytes()))
    };
    let is_one = |words: &&str| said.eq_ignore_ascii_case(words);
    NO_OUTPUT.iter().any(is_one) || WITHOUT_OUTPUT.iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::says_no_output;

    /// Given what shells' tools say in the place of nothing, it is known; that nothing was found is another thing.
    #[test]
    fn no_output() {
        for text in [
            "(no output)",
            "[no output]",
            "(no content)",
            "No output.",
            "(Bash completed with no output)",
            "Command completed with no output.",
        ] {
            assert!(says_no_output(text), "{text}");
        }
        for text in [
            "",
            "No results",
            "no output file",
            "The page has no content for you",
            "no",
        ] {
            assert!(!says_no_output(text), "{text}");
        }
    }
}
