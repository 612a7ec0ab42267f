//! The words by which a result is known that says that a call went wrong, and how they are found: in one walk
//! those that tell what went wrong, in another the words of refusal.
//!
//! Tools speak the language of who wrote them. English words are many, and taken as whole; of other languages stand those here
//! that leave little doubt, by their beginnings, since these bend their words, or write them without blanks between.

use std::sync::LazyLock;

use super::lexicon::Lexicon;
use super::wide::before_end_ignoring_case;

/// What words tell.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Tells {
    /// Another try is asked for.
    Asks,
    /// Something is wrong in what was given.
    Blames,
    /// The same, of which those texts speak, too, that go on to show what they are about.
    BlamesAtLength,
    /// Something is not there, which answers the question whether it is.
    Absent,
    /// The call went wrong.
    Failed,
    /// The same, where the line is all there is: with more below, it may be the state of what was asked about.
    FailedAlone,
    /// A site shows another page than the one that was asked for (`failing::walls`).
    Walled,
}

use Tells::{Absent, Asks, Blames, BlamesAtLength, Failed, FailedAlone, Walled};

/// English words with what they tell, whatever the case of their letters.
const WORDS: [(&str, Tells); 109] = [
    ("please", Asks),
    ("try again", Asks),
    ("retry", Asks),
    ("try another", Asks),
    ("try a different", Asks),
    ("error", BlamesAtLength),
    ("errors", BlamesAtLength),
    ("invalid", Blames),
    ("failed", BlamesAtLength),
    ("a valid", Blames),
    ("not valid", Blames),
    ("incorrect", Blames),
    ("unrecognized", Blames),
    ("unrecognised", Blames),
    ("unsupported", Blames),
    ("not supported", Blames),
    ("not allowed", Blames),
    ("not permitted", Blames),
    ("must be", Blames),
    ("must have", Blames),
    ("must not", Blames),
    ("is required", Blames),
    ("are required", Blames),
    ("missing", Blames),
    ("does not exist", Absent),
    ("doesn't exist", Absent),
    ("not found", Absent),
    ("no such", Absent),
    ("encountered an error", Failed),
    ("error occurred", Failed),
    ("error while", Failed),
    ("error when", Failed),
    ("error during", Failed),
    ("error in tool", Failed),
    ("mcp error", Failed),
    ("exception in thread", Failed),
    ("failed to match", Failed),
    ("failed to", FailedAlone),
    ("failed at", FailedAlone),
    ("failed due to", FailedAlone),
    ("failed with", FailedAlone),
    ("illegal move", Failed),
    ("invalid action", Failed),
    ("invalid argument", Failed),
    ("invalid arguments", Failed),
    ("invalid format", Failed),
    ("invalid function", Failed),
    ("invalid input", Failed),
    ("invalid json", Failed),
    ("invalid option", Failed),
    ("invalid parameter", Failed),
    ("invalid parameters", Failed),
    ("invalid params", Failed),
    ("invalid request", Failed),
    ("invalid syntax", Failed),
    ("invalid tool", Failed),
    ("unknown action", Failed),
    ("unknown command", Failed),
    ("unknown function", Failed),
    ("unknown method", Failed),
    ("unknown option", Failed),
    ("unknown parameter", Failed),
    ("unknown tool", Failed),
    ("these are the only available", Failed),
    ("not authorized", Failed),
    ("not have permission", Failed),
    ("don't have permission", Failed),
    ("exceeded your", Failed),
    ("quota exceeded", Failed),
    ("ratelimit", Failed),
    ("timed out", Failed),
    ("just a moment...", Walled),
    ("enable javascript and cookies", Walled),
    ("enable javascript to run", Walled),
    ("enable javascript to continue", Walled),
    ("enable javascript to view", Walled),
    ("enable js and disable any ad", Walled),
    ("work properly without javascript", Walled),
    ("javascript is not available", Walled),
    ("checking your browser", Walled),
    ("checking if the site connection is secure", Walled),
    ("performing security verification", Walled),
    ("verify you are human", Walled),
    ("verify you are a human", Walled),
    ("verifying you are human", Walled),
    ("you are not a robot", Walled),
    ("make sure you're not a robot", Walled),
    ("are you a robot", Walled),
    ("are you not a robot", Walled),
    ("unfortunately, bots use", Walled),
    ("solve the challenge below", Walled),
    ("enter the characters you see below", Walled),
    ("pardon our interruption", Walled),
    ("incapsula incident", Walled),
    ("unusual traffic from your computer", Walled),
    ("access to this page has been denied", Walled),
    ("sorry, you have been blocked", Walled),
    ("you've been blocked by network security", Walled),
    ("agent stopped due to", Failed),
    ("reached the iteration limit", Failed),
    ("reached the maximum number of turns", Failed),
    ("reached the turn limit", Failed),
    ("reaching the turn limit", Failed),
    ("without a final answer", FailedAlone),
    ("something went wrong", FailedAlone),
    ("internal error", FailedAlone),
    ("not implemented", FailedAlone),
    ("was not able to", FailedAlone),
    ("wasn't able to", FailedAlone),
];

/// How words of other languages begin, with what they tell, in rows of one language each. All but those that ask for another try
/// are words of refusal, too. Letters that ASCII has not are taken as they stand.
const ABROAD: [(Tells, &str); 41] = [
    (Asks, "bitte |versuchen sie"),
    (
        Blames,
        "fehler|ungültig|muss |müssen |erforderlich|nicht erlaubt|nicht zulässig|nicht unterstützt|verweigert|abgelehnt|gesperrt",
    ),
    (
        Blames,
        "konnte nicht|kann nicht|nicht möglich|fehlgeschlagen|abgelaufen|überschritten",
    ),
    (Blames, "fout|mislukt|ongeldig|geweigerd|niet toegestaan"),
    (Asks, "réessay|veuillez"),
    (
        Blames,
        "erreur|invalide|échoué|échec|non autoris|pas autoris|refusé|interdit|expiré|obligatoire|dépass|impossible",
    ),
    (
        Asks,
        "vuelva a intentar|intente de nuevo|inténtelo|por favor",
    ),
    (
        Blames,
        "inválid|no es válid|no se pudo|no se puede|no se permit|no está permit|denegad|rechazad|obligatori|caducad|falló|error al ",
    ),
    (Asks, "tente novamente"),
    (
        Blames,
        "erro |erros|falha|falhou|não foi possível|não é possível|não permitid|não autorizad|negad|recusad|obrigatóri",
    ),
    (Asks, "riprova"),
    (
        Blames,
        "errore|non valid|non è stato possibile|impossibile|negato|rifiutat|scadut|fallit",
    ),
    (Asks, "пожалуйста|повторите|попробуйте"),
    (
        Blames,
        "ошибк|Ошибк|не удалось|Не удалось|недопустим|Недопустим|неверн|Неверн|запрещ|Запрещ|отказано|невозможно|Невозможно",
    ),
    (Blames, "hata|başarısız|geçersiz"),
    (
        Asks,
        "请重试|请重新|请检查|请提供|请输入|请先|請重試|請重新|請檢查",
    ),
    (
        Blames,
        "错误|錯誤|失败|失敗|无法|無法|无效|無效|不支持|不支援|不允许|不允許|不合法|拒绝|拒絕|禁止|超时|逾時|超出|缺少|必须|必須|异常|異常|不可用|未授权|权限不足",
    ),
    (
        Failed,
        "执行失败|调用失败|请求失败|操作失败|連線失敗|连接失败|请求超时|参数错误|参数无效|呼叫失敗|執行失敗",
    ),
    (Asks, "再試行|もう一度|やり直して|してください"),
    (
        Blames,
        "エラー|できません|無効|不正な|拒否|許可されて|必要です|超えて|タイムアウト",
    ),
    (Blames, "権限がありません|失敗しました"),
    (
        Failed,
        "実行に失敗|呼び出しに失敗|接続に失敗|処理に失敗|取得に失敗",
    ),
    (Asks, "다시 시도|확인해 주세요|입력해 주세요"),
    (
        Blames,
        "오류|실패|할 수 없|거부|잘못|유효하지|허용되지|초과|필요합니다",
    ),
    (Failed, "실행에 실패|호출에 실패|요청에 실패"),
    (Asks, "proszę|spróbuj"),
    (
        Blames,
        "błąd|nie można|nie udało się|nieprawidłow|odmowa|niedozwolon",
    ),
    (Asks, "lütfen|tekrar dene"),
    (Blames, "yapılamadı|reddedildi|izin verilm|zaman aşımı"),
    (Asks, "vui lòng|thử lại"),
    (
        Blames,
        "lỗi|không thể|không hợp lệ|thất bại|bị từ chối|không được phép",
    ),
    (Asks, "silakan|coba lagi"),
    (Blames, "kesalahan|gagal|tidak valid|tidak dapat|ditolak"),
    (Asks, "يرجى|حاول مرة"),
    (Blames, "خطأ|فشل|غير صالح|تعذر|مرفوض|غير مسموح"),
    (Asks, "कृपया"),
    (Blames, "त्रुटि|विफल|अमान्य|अस्वीकार|अनुमति नहीं"),
    (Asks, "กรุณา|ลองอีกครั้ง|ลองใหม่"),
    (Blames, "ข้อผิดพลาด|ล้มเหลว|ไม่ถูกต้อง|ไม่สามารถ|ไม่อนุญาต"),
    (Asks, "спробуйте"),
    (Blames, "помилк|Помилк|не вдалося|Не вдалося|неправильн"),
];

/// How English words begin in which a call is turned down, whatever the case of their letters; the first one ends a word, and a
/// blank behind one makes it a whole word.
const REFUSED: [&str; 58] = [
    "n't",
    "abort",
    "ambiguous",
    "bad ",
    "blocked",
    "but got",
    "cannot",
    "could not",
    "denied",
    "disabled",
    "duplicate",
    "error",
    "exceed",
    "exhaust",
    "expir",
    "fail",
    "forbid",
    "halted",
    "incorrect",
    "insufficient",
    "invalid",
    "mismatch",
    "missing",
    "must ",
    "never ",
    "not a valid",
    "not accept",
    "not allow",
    "not authent",
    "not author",
    "not enabled",
    "not have permission",
    "not implemented",
    "not match",
    "not permit",
    "not provided",
    "not support",
    "not valid",
    "refus",
    "reject",
    "required",
    "requires",
    "sorry",
    "stopped",
    "suspend",
    "throttl",
    "timed out",
    "timeout",
    "too ",
    "truncat",
    "unable",
    "unauthent",
    "unauthor",
    "unavailable",
    "unexpected",
    "unknown",
    "unsupported",
    "wrong",
];

/// How words begin that tell of who asks, whatever the case of their letters.
const CALLERS: [&str; 26] = [
    "access denied",
    "access token",
    "access_denied",
    "api key",
    "api-key",
    "api_key",
    "apikey",
    "authent",
    "authoris",
    "authoriz",
    "credential",
    "forbidden",
    "invalid token",
    "jwt",
    "log in",
    "login",
    "not have permission",
    "permission denied",
    "permission_denied",
    "quota",
    "rate limit",
    "session expired",
    "throttl",
    "too many requests",
    "unauthent",
    "unauthor",
];

/// What stands before words that are said to be of nothing, `no error`, and behind them.
const DENIALS: [&str; 17] = [
    "no ",
    "without ",
    "keine ",
    "ohne ",
    "sin ",
    "ningún ",
    "aucune ",
    "sans ",
    "nessun ",
    "senza ",
    "nenhum ",
    "sem ",
    "без ",
    "没有",
    "無",
    "无",
    "未发现",
];
const DENIALS_BEHIND: [&str; 6] = ["はありません", "はなし", "なし", "가 없", "는 없", " 없"];

/// Finds the words that tell something: English ones, which end where a word does, and those of other languages.
static TELLING: LazyLock<Lexicon<(Tells, bool)>> = LazyLock::new(|| {
    let english = WORDS.iter().map(|(words, tells)| (*words, (*tells, true)));
    let abroad = abroad().map(|(words, tells)| (words, (tells, false)));
    Lexicon::of(english.chain(abroad))
});

/// Finds words of refusal, and says of each whether it ends a word.
static REFUSALS: LazyLock<Lexicon<bool>> = LazyLock::new(|| {
    let abroad = abroad().filter(|(_, tells)| *tells != Asks);
    let words = REFUSED.into_iter().chain(abroad.map(|(words, _)| words));
    Lexicon::of(words.map(|words| (words, words == REFUSED[0])))
});

static OF_CALLERS: LazyLock<Lexicon<()>> = LazyLock::new(|| Lexicon::of_rows(&CALLERS));

/// [`ABROAD`], word by word.
fn abroad() -> impl Iterator<Item = (&'static str, Tells)> {
    let rows = ABROAD.iter();
    rows.flat_map(|(tells, row)| row.split('|').map(|words| (words, *tells)))
}

/// What the known words in a text tell, and where each of them ends.
pub(super) fn telling(text: &str) -> impl Iterator<Item = (Tells, usize)> {
    TELLING
        .found(text)
        .filter_map(|((tells, is_english), place)| {
            let (before, behind) = (&text[..place.start], &text[place.end..]);
            let is_part = ends_in_word(before) || (is_english && begins_in_word(behind));
            (!is_part && !is_denied(before, behind)).then_some((tells, place.end))
        })
}

/// Whether a text has words of refusal, and none of them is said to be of nothing.
pub(super) fn has_words_of_refusal(text: &str) -> bool {
    let mut refuses = false;
    for (ends_a_word, place) in REFUSALS.found(text) {
        let (before, behind) = (&text[..place.start], &text[place.end..]);
        if ends_a_word || !ends_in_word(before) {
            if is_denied(before, behind) {
                return false;
            }
            refuses = true;
        }
    }
    refuses
}

/// Whether a text tells of who asks, and whether they may.
pub(super) fn speaks_of_caller(text: &str) -> bool {
    OF_CALLERS.is_said_in(text)
}

fn ends_in_word(before: &str) -> bool {
    before.ends_with(|letter: char| letter.is_ascii_alphanumeric())
}

fn begins_in_word(behind: &str) -> bool {
    behind.starts_with(|letter: char| letter.is_ascii_alphanumeric())
}

/// Whether the words between these texts are said to be of nothing: `no error`, `0 failed`.
fn is_denied(before: &str, behind: &str) -> bool {
    let denies = |words: &str| before_end_ignoring_case(before, words).is_some();
    let number = before
        .strip_suffix("个")
        .unwrap_or(before)
        .trim_end()
        .strip_suffix('0');
    DENIALS.iter().any(|words| denies(words))
        || DENIALS_BEHIND.iter().any(|words| behind.starts_with(words))
        || (number.is_some_and(|number| !number.ends_with(|sign: char| sign.is_ascii_digit())))
}
