//! Agents before a screen, a search, a database or a memory, and work on hundreds of things; loops, and work that looks like
//! them. Written before it was measured what is found of them.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("screen: a click that changes nothing", 6, dead_click),
    ("page tree: a banner over the button", 9, banner),
    ("browser: typed and nothing extracted", 6, nothing_extracted),
    ("retrieval: seven passages dealt anew", 8, passages_dealt),
    ("sql: checked, and no such column", 6, no_such_column),
    ("sql: a count that stays nought", 6, count_of_nought),
    ("memory: made again what is there", 6, made_again),
];

pub(super) const WORK: &[Work] = &[
    ("crawl: eight hundred pages", crawl),
    ("labels: five hundred texts", labels),
    ("screen: a form of many fields", form),
    ("screen: a page that loads slowly", slow_page),
    ("browser: scrolled and read in turn", scrolled_and_read),
    ("page tree: pages by one button", pages_by_button),
    ("retrieval: refined until it is found", refined),
    ("sql: ten questions, some repaired", questions_repaired),
    ("memory: forty customers", forty_customers),
];

const ROUNDS: usize = 10;

/// A picture of the screen as a content block, another one for each seed text.
fn screenshot(made: &mut Made) -> Value {
    let data: String = (0..20).map(|_| made.hex()).collect();
    json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": format!("iVBORw0KGgo{data}")}}])
}

fn dead_click(made: &mut Made) {
    made.begin(8);
    let (x, y, seen) = (
        made.between(200, 900),
        made.between(100, 700),
        screenshot(made),
    );
    let looks = made.chance(50);
    for _ in 0..ROUNDS {
        let at = [x + made.below(7), y + made.below(5)];
        made.call(
            "computer",
            json!({"action": "left_click", "coordinate": at}),
            if looks { json!("") } else { seen.clone() },
        );
        if looks {
            made.call("computer", json!({"action": "screenshot"}), seen.clone());
        }
        made.again();
    }
}

/// A page as a tree of its elements, as a server of browser tools tells it after each action.
fn tree(code: &str, url: &str, elements: &str) -> Value {
    json!([{"type": "text", "text": format!("### Ran Playwright code\n```js\n{code}\n```\n\n### Page state\n- Page URL: {url}\n- Page Title: Shop\n- Page Snapshot:\n```yaml\n{elements}\n```")}])
}

fn banner(made: &mut Made) {
    made.begin(8);
    let (url, name) = (format!("https://{}.example/cart", made.word()), made.word());
    let elements = format!(
        "- generic [ref=e1]:\n  - dialog \"Cookies\" [ref=e3]: {}\n  - button \"{name}\" [ref=e42]",
        made.words(12)
    );
    for _ in 0..ROUNDS {
        let tries = made.between(8, 12);
        made.pause(5);
        made.fails(
            "browser_click",
            json!({"element": format!("{name} button"), "ref": "e42"}),
            &format!(
                "Error: locator.click: Timeout 5000ms exceeded.\nCall log:\n  - waiting for locator('aria-ref=e42')\n    - locator resolved to <button type=\"submit\">{name}</button>\n  - attempting click action\n    {tries} × waiting for element to be visible, enabled and stable\n      - element is visible, enabled and stable\n      - <div class=\"overlay\">…</div> intercepts pointer events\n    - retrying click action"
            ),
        );
        if made.chance(50) {
            made.call("browser_snapshot", json!({}), tree("", &url, &elements));
        }
        made.again();
    }
}

fn nothing_extracted(made: &mut Made) {
    made.begin(8);
    let words = made.some_words(3);
    let site = made.word();
    for round in 0..ROUNDS {
        let text = match round % 3 {
            0 => words.join(" "),
            1 => format!("{} {}", words[1], words[0]),
            _ => format!("{} with {}", words[0], words[2]),
        };
        made.call(
            "input_text",
            json!({"index": 4, "text": text}),
            format!("⌨️  Input {text} into index 4"),
        );
        made.call(
            "click_element_by_index",
            json!({"index": 5}),
            "🖱️  Clicked button with index 5: Search",
        );
        made.call(
            "extract_structured_data",
            json!({"query": format!("names and prices of the {} shown", words[0]), "extract_links": false}),
            format!("📄  Extracted from page\n: {{\"url\": \"https://{site}.example/search\", \"items\": [], \"note\": \"The page says that no results were found.\"}}"),
        );
        made.again();
    }
}

fn passage(made: &mut Made, place: usize) -> Value {
    json!({"id": format!("doc-{place}"), "text": made.words(30)})
}

/// Each query gets three or four of the same seven passages, in some order.
fn passages_dealt(made: &mut Made) {
    made.begin(8);
    let passages: Vec<_> = (0..7).map(|place| passage(made, place)).collect();
    let words = made.some_words(4);
    for round in 0..ROUNDS {
        let query = match round % 5 {
            0 => format!("{} {} {}", words[0], words[1], words[2]),
            1 => format!("how is the {} of a {} set", words[1], words[0]),
            2 => format!("{} {} {} reference", words[2], words[0], words[3]),
            3 => format!("{} in {} explained", words[1], words[2]),
            _ => format!("default {} for {} and {}", words[0], words[1], words[3]),
        };
        let mut dealt = passages.clone();
        for _ in 0..made.between(3, 4) {
            dealt.swap_remove(made.below(dealt.len()));
        }
        let hits = dealt.into_iter().map(|mut passage| {
            passage["score"] = json!(made.between(600, 900) as f64 / 1_000.0);
            passage
        });
        let hits: Vec<_> = hits.collect();
        made.call(
            "knowledge_search",
            json!({"query": query, "top_k": 4}),
            json!({"results": hits}),
        );
        made.again();
    }
}

fn no_such_column(made: &mut Made) {
    made.begin(8);
    let (table, column) = (made.word(), made.words(2).replace(' ', "_"));
    for round in 0..ROUNDS {
        let year = 2_020 + made.below(7);
        let query = match round % 4 {
            0 => format!("SELECT {column} FROM {table} WHERE year = {year}"),
            1 => format!("SELECT t.{column}, t.year FROM {table} t ORDER BY t.year DESC LIMIT 5"),
            2 => {
                format!("SELECT year, SUM({column}) AS total FROM {table} GROUP BY year")
            }
            _ => format!("SELECT MAX({column}) FROM {table}"),
        };
        made.call(
            "sql_db_query_checker",
            json!({"query": query}),
            query.clone(),
        );
        let name = if round % 4 == 1 {
            format!("t.{column}")
        } else {
            column.clone()
        };
        made.call(
            "sql_db_query",
            json!({"query": query}),
            format!(
                "Error: (sqlite3.OperationalError) no such column: {name}\n[SQL: {query}]\n(Background on this error at: https://sqlalche.me/e/20/e3q8)"
            ),
        );
        made.again();
    }
}

fn count_of_nought(made: &mut Made) {
    made.begin(8);
    let words = made.some_words(3);
    for round in 0..ROUNDS {
        let query = match round % 5 {
            0 => format!(
                "SELECT COUNT(*) FROM {} WHERE name = '{}'",
                words[0], words[1]
            ),
            1 => format!(
                "SELECT COUNT(*) FROM {} WHERE LOWER(name) = LOWER('{}')",
                words[0], words[1]
            ),
            2 => format!(
                "SELECT COUNT(*) FROM {} WHERE name LIKE '%{}%'",
                words[0], words[1]
            ),
            3 => format!(
                "SELECT COUNT(id) FROM {} WHERE TRIM(name) = '{}'",
                words[0], words[1]
            ),
            _ => format!(
                "SELECT COUNT(DISTINCT id) FROM {} WHERE name ILIKE '{}%'",
                words[0], words[1]
            ),
        };
        made.call("sql_db_query", json!({"query": query}), "[(0,)]");
        made.again();
    }
}

fn made_again(made: &mut Made) {
    made.begin(8);
    let (name, kind) = (made.word(), made.word());
    let graph = json!({"entities": [{"name": name, "entityType": kind, "observations": [made.words(6)]}], "relations": []});
    for _ in 0..ROUNDS {
        let observation = made.words(6);
        made.call(
            "create_entities",
            json!({"entities": [{"name": name, "entityType": kind, "observations": [observation]}]}),
            json!([{"type": "text", "text": "[]"}]),
        );
        made.call(
            "read_graph",
            json!({}),
            json!([{"type": "text", "text": graph.to_string()}]),
        );
        made.again();
    }
}

/// Pages of many sites, some of which are not there, and some of which all say the same to robots.
fn crawl(made: &mut Made) {
    made.begin(8);
    let wall = made.pick(&[
        "Please enable JavaScript and cookies to view this page.",
        "Checking your browser before you access the site. This process is automatic. Your browser will be redirected to your requested content shortly.",
        "We value your privacy. Accept all cookies to go on reading.",
    ]);
    for number in 0..800 {
        let url = format!(
            "https://www.{}-{}.example/{}/{}-{number}",
            made.word(),
            made.word(),
            made.word(),
            made.word()
        );
        match made.below(20) {
            0 | 1 => made.fails(
                "fetch",
                json!({"url": url, "max_length": 5_000}),
                &format!("Failed to fetch {url} - status code 404"),
            ),
            2..=4 => made.call(
                "fetch",
                json!({"url": url, "max_length": 5_000}),
                format!("Contents of {url}:\n{wall}"),
            ),
            5 => made.call("fetch", json!({"url": url, "max_length": 5_000}), wall),
            _ => {
                let text = made.words(36);
                made.call(
                    "fetch",
                    json!({"url": url, "max_length": 5_000}),
                    format!("Contents of {url}:\n{text}"),
                );
            }
        }
    }
}

fn labels(made: &mut Made) {
    made.begin(8);
    let style = made.below(3);
    for number in 0..500 {
        let text = made.words(18);
        made.call(
            "get_next_item",
            json!({"queue": "reviews"}),
            json!({"id": format!("r-{number}"), "text": text}),
        );
        let label = made.pick(&["positive", "negative", "neutral"]);
        let output = match style {
            0 => json!({"status": "saved"}),
            1 => json!(""),
            _ => json!({"ok": true, "label": label}),
        };
        made.call(
            "submit_label",
            json!({"id": format!("r-{number}"), "label": label}),
            output,
        );
    }
}

fn form(made: &mut Made) {
    made.begin(8);
    let style = made.below(2);
    let answers = |made: &mut Made| {
        if style == 0 {
            screenshot(made)
        } else {
            json!("")
        }
    };
    for number in 0..made.between(12, 20) {
        let (x, y, text) = (
            made.between(300, 320),
            80 + number * 35,
            made.words(1 + number % 2),
        );
        let seen = answers(made);
        made.call(
            "computer",
            json!({"action": "left_click", "coordinate": [x, y]}),
            seen,
        );
        let seen = answers(made);
        made.call("computer", json!({"action": "type", "text": text}), seen);
        if made.chance(30) {
            let seen = screenshot(made);
            made.call("computer", json!({"action": "screenshot"}), seen);
        }
        if made.chance(25) {
            let seen = answers(made);
            made.call("computer", json!({"action": "key", "text": "Tab"}), seen);
        }
    }
}

fn slow_page(made: &mut Made) {
    made.begin(8);
    let style = made.below(2);
    for _ in 0..made.between(4, 6) {
        let at = [made.between(200, 900), made.between(100, 700)];
        let loading = screenshot(made);
        made.call(
            "computer",
            json!({"action": "left_click", "coordinate": at}),
            loading.clone(),
        );
        for _ in 0..made.between(1, 4) {
            if style == 0 {
                made.pause(3);
                made.call(
                    "computer",
                    json!({"action": "wait", "duration": 3}),
                    loading.clone(),
                );
            } else {
                made.pause(2);
                made.call("computer", json!({"action": "wait", "duration": 2}), "");
                made.call("computer", json!({"action": "screenshot"}), loading.clone());
            }
        }
        let loaded = screenshot(made);
        made.call("computer", json!({"action": "screenshot"}), loaded);
    }
}

fn scrolled_and_read(made: &mut Made) {
    made.begin(8);
    for _ in 0..made.between(6, 12) {
        for _ in 0..made.between(1, 2) {
            made.call(
                "scroll",
                json!({"down": true, "num_pages": 1.0}),
                "🔍 Scrolled down the page by one page",
            );
        }
        let text = made.words(25);
        made.call(
            "extract_structured_data",
            json!({"query": "all offers that are shown, with their prices", "extract_links": false}),
            format!("📄  Extracted from page\n: {text}"),
        );
    }
}

fn pages_by_button(made: &mut Made) {
    made.begin(8);
    let url = format!("https://{}.example/list", made.word());
    for page in 1..made.between(20, 35) {
        let (from, rows) = (made.between(100, 900), made.words(25));
        made.call(
            "browser_click",
            json!({"element": "Next page button", "ref": "e88"}),
            tree(
                "await page.getByRole('button', { name: 'Next' }).click();",
                &url,
                &format!("- generic [ref=e1]:\n  - table [ref=e{from}]: {rows}\n  - button \"Next\" [ref=e88]"),
            ),
        );
        if page % 6 == 0 {
            made.pause(3);
            made.call(
                "browser_wait_for",
                json!({"time": 3}),
                "### Ran Playwright code\n```js\nawait new Promise(f => setTimeout(f, 3 * 1000));\n```",
            );
        }
    }
}

/// Each query is narrower than the one before and finds something that the others did not, beside much that they did.
fn refined(made: &mut Made) {
    made.begin(8);
    for _ in 0..made.between(2, 3) {
        let words = made.some_words(8);
        let mut query = format!("{} {}", words[0], words[1]);
        let mut known: Vec<_> = (0..4).map(|place| passage(made, place)).collect();
        for round in 0..made.between(4, 6) {
            let hits: Vec<_> = known
                .iter()
                .rev()
                .take(4)
                .map(|passage| {
                    let mut passage = passage.clone();
                    passage["score"] = json!(made.between(600, 900) as f64 / 1_000.0);
                    passage
                })
                .collect();
            made.call(
                "knowledge_search",
                json!({"query": query, "top_k": 4}),
                json!({"results": hits}),
            );
            query = format!("{query} {}", words[2 + round]);
            for _ in 0..made.between(1, 2) {
                let new = passage(made, known.len());
                known.push(new);
            }
        }
        let answer = made.words(12);
        made.says(&format!("It says: {answer}."));
    }
}

fn questions_repaired(made: &mut Made) {
    made.begin(8);
    made.call(
        "sql_db_list_tables",
        json!({"tool_input": ""}),
        "customers, orders, order_items, products, regions",
    );
    for _ in 0..10 {
        let table = made.pick(&["customers", "orders", "order_items", "products", "regions"]);
        if made.chance(60) {
            made.call(
                "sql_db_schema",
                json!({"table_names": table}),
                format!("CREATE TABLE {table} (\n\tid INTEGER NOT NULL,\n\tname TEXT,\n\tvalue REAL\n)\n\n/*\n3 rows from {table} table:\n1\t{}\t4.0\n*/", table.len()),
            );
        }
        let words = made.some_words(4);
        for wrong in words.iter().take(made.below(3)) {
            let query = format!("SELECT {wrong}, SUM(value) FROM {table} GROUP BY {wrong}");
            made.call(
                "sql_db_query",
                json!({"query": query}),
                format!("Error: (sqlite3.OperationalError) no such column: {wrong}\n[SQL: {query}]\n(Background on this error at: https://sqlalche.me/e/20/e3q8)"),
            );
        }
        let (limit, value) = (made.between(3, 9), made.between(1, 9_999));
        let query = format!(
            "SELECT name, SUM(value) FROM {table} WHERE name LIKE '%{}%' GROUP BY name LIMIT {limit}",
            words[3]
        );
        made.call(
            "sql_db_query_checker",
            json!({"query": query}),
            query.clone(),
        );
        let output = if made.chance(20) {
            String::new()
        } else {
            format!("[('{}', {value}.5)]", words[3])
        };
        made.call("sql_db_query", json!({"query": query}), output);
    }
}

fn forty_customers(made: &mut Made) {
    made.begin(8);
    let style = made.below(2);
    for number in 0..40 {
        let (name, fact) = (made.word(), made.words(7));
        let user = format!("{name}-{number}");
        if style == 0 {
            made.call(
                "search_memories",
                json!({"query": "preferences and open issues", "user_id": user}),
                json!({"results": []}),
            );
            let id = made.hex();
            made.call(
                "add_memory",
                json!({"text": fact, "user_id": user}),
                json!({"results": [{"id": id, "memory": fact, "event": "ADD"}]}),
            );
        } else {
            made.call(
                "memory",
                json!({"command": "view", "path": format!("/memories/{user}.md")}),
                format!(
                    "The path /memories/{user}.md does not exist. Please provide a valid path."
                ),
            );
            made.call(
                "memory",
                json!({"command": "create", "path": format!("/memories/{user}.md"), "file_text": fact}),
                format!("File created successfully at: /memories/{user}.md"),
            );
        }
    }
}
