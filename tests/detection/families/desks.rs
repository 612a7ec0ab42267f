//! Agents at a desk of their own, as known frameworks run them: editors and shells with their observations, browsers that tell
//! a page's elements, notebooks, research, databases; loops, and work that looks like them. Written before it was measured what
//! is found of them.

use serde_json::json;

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    (
        "editor: rewritten, same tests fail",
        6,
        rewritten_same_tests,
    ),
    ("editor: an edit that breaks the syntax", 6, syntax_refused),
    ("editor: two tests break in turn", 6, tests_in_turn),
    ("envelope: greps that print nothing", 6, greps_print_nothing),
    ("elements: clicks on numbers that move", 6, numbers_move),
    ("sub-agents: the same search sent out", 6, subagents_search),
    ("server of files: paths that do not exist", 6, paths_missing),
    ("notebook: a cell run again", 6, cell_again),
    ("research: open, find, open", 6, open_find),
    (
        "retrieval: reworded, same passages, timed",
        6,
        passages_timed,
    ),
    ("sql: reworded, no rows", 6, no_rows),
    ("review: eight ranges again", 2, eight_ranges),
    ("scraper: empty pages by number", 6, empty_pages_numbered),
    ("plan: read, thought about, read", 6, plan_read_again),
    ("memory: one fact saved again", 6, fact_saved_again),
    ("search in another language", 6, other_language),
    ("sums: one sum in other words", 6, one_sum),
];

pub(super) const WORK: &[Work] = &[
    ("editor: fewer tests fail", fewer_fail),
    ("editor: scrolling by a bare command", bare_scroll),
    ("envelope: greps, some print nothing", greps_some),
    ("elements: a catalogue by one button", catalogue),
    ("sub-agents: one for each module", subagents_modules),
    ("server of files: written one by one", files_written),
    ("notebook: head after each step", head_each_step),
    ("notebook: one picture after the other", pictures),
    ("research: leads followed", leads_followed),
    ("retrieval: questions on one handbook", handbook),
    ("sql: checks that find no fault", checks_clean),
    ("review: ranges, each commented", ranges_commented),
    ("scraper: some shelves are empty", shelves),
    ("plan: read before each step", plan_each_step),
    ("memory: looked up, then saved", memory_kept),
    ("linter over many files", linter),
    ("sums: one number after the other", primes),
    ("training: a log that is watched", training),
];

const ROUNDS: usize = 10;

/// What a shell printed, as one of three frameworks gives it to the model.
fn observed(style: usize, code: u8, printed: &str) -> String {
    match style % 3 {
        0 => format!(
            "{printed}\n[The command completed with exit code {code}.]\n[Current working directory: /workspace/app]\n[Python interpreter: /usr/bin/python3]"
        ),
        1 => format!("<returncode>{code}</returncode>\n<output>\n{printed}</output>"),
        _ => format!("{printed}\n(Open file: n/a)\n(Current directory: /app)\nbash-$"),
    }
}

fn shell(made: &mut Made, style: usize, command: &str, code: u8, printed: &str) {
    let tool = ["execute_bash", "bash", "run"][style % 3];
    made.call(
        tool,
        json!({"command": command}),
        observed(style, code, printed),
    );
}

/// A piece of code with line numbers, as editors show it after an edit.
fn snippet(made: &mut Made) -> String {
    let from = made.between(10, 200);
    let line =
        |made: &mut Made, at: usize| format!("{:>6}\t    {} = {}(x)", at, made.word(), made.word());
    let lines: Vec<_> = (from..from + 8).map(|at| line(made, at)).collect();
    lines.join("\n")
}

fn edit(made: &mut Made, path: &str) {
    let (old, new, shown) = (made.words(5), made.words(7), snippet(made));
    made.call(
        "str_replace_editor",
        json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new}),
        format!("The file {path} has been edited. Here's the result of running `cat -n` on a snippet of {path}:\n{shown}\nReview the changes and make sure they are as expected."),
    );
}

/// What pytest prints at its end.
fn pytest(made: &mut Made, failed: &[&str], passed: usize) -> String {
    let seconds = made.between(80, 900) as f64 / 100.0;
    let lines: Vec<_> = failed
        .iter()
        .map(|name| format!("FAILED tests/test_app.py::test_{name} - AssertionError"))
        .collect();
    format!(
        "=================== short test summary info ====================\n{}\n============ {} failed, {passed} passed in {seconds:.2}s ============",
        lines.join("\n"),
        failed.len()
    )
}

fn rewritten_same_tests(made: &mut Made) {
    made.begin(8);
    let (style, path, failed) = (made.below(3), made.file(), made.some_words(3));
    let passed = made.between(10, 90);
    for _ in 0..ROUNDS {
        edit(made, &path);
        let printed = pytest(made, &failed, passed);
        shell(made, style, "python -m pytest tests -q", 1, &printed);
        made.again();
    }
}

fn syntax_refused(made: &mut Made) {
    made.begin(8);
    let (from, path) = (made.between(10, 300), made.file());
    for _ in 0..ROUNDS {
        let (text, shown) = (made.words(9), snippet(made));
        made.call(
            "edit",
            json!({"command": format!("edit {from}:{}\n{text}\nend_of_edit", from + 4)}),
            format!("Your proposed edit has introduced new syntax error(s). Please read this error message carefully and then retry editing the file.\n\nERRORS:\n- E999 IndentationError: unexpected indent\n\nThis is how your edit would have looked if applied\n-------------------------------------------------\n{shown}\n-------------------------------------------------\n\nYour changes have NOT been applied. (Open file: {path})"),
        );
        made.again();
    }
}

fn tests_in_turn(made: &mut Made) {
    made.begin(8);
    let (style, path, tests) = (made.below(3), made.file(), made.some_words(2));
    for round in 0..ROUNDS {
        edit(made, &path);
        let printed = pytest(made, &tests[round % 2..=round % 2], 41);
        shell(made, style, "pytest -x -q", 1, &printed);
        made.again();
    }
}

fn greps_print_nothing(made: &mut Made) {
    made.begin(8);
    let (style, name) = (made.below(3), made.words(2).replace(' ', "_"));
    for round in 0..ROUNDS {
        let dir = made.pick(&["src", "lib", ".", "app", "tests"]);
        let command = match round % 4 {
            0 => format!("grep -rn '{name}' {dir}"),
            1 => format!("grep -rni \"def {name}\" {dir} --include=*.py"),
            2 => format!("find {dir} -name '*{name}*'"),
            _ => format!("rg {name} {dir}"),
        };
        shell(made, style, &command, 1, "");
        made.again();
    }
}

/// A page as a list of its elements, whose numbers begin anew each time it is drawn.
fn elements(made: &mut Made, url: &str, labels: &[&str]) -> String {
    let from = made.between(1, 60);
    let lines: Vec<_> = labels
        .iter()
        .enumerate()
        .map(|(place, label)| {
            format!(
                "[{}]<button aria-label='{label}'>{label}</button>",
                from + place
            )
        })
        .collect();
    format!(
        "Current url: {url}\nAvailable tabs: [TabInfo(page_id=0, url='{url}')]\nInteractive elements:\n[Start of page]\n{}\n[End of page]\nCurrent date and time: {}",
        lines.join("\n"),
        made.time()
    )
}

fn numbers_move(made: &mut Made) {
    made.begin(8);
    let (url, labels) = (
        format!("https://{}.example/cart", made.word()),
        made.some_words(5),
    );
    for _ in 0..ROUNDS {
        let index = made.between(1, 60);
        let page = elements(made, &url, &labels);
        made.call(
            "click_element",
            json!({"index": index}),
            format!("Clicked button with index {index}: {}\n{page}", labels[0]),
        );
        made.again();
    }
}

fn subagents_search(made: &mut Made) {
    made.begin(8);
    let about = made.words(3);
    for round in 0..ROUNDS {
        let prompt = match round % 3 {
            0 => format!(
                "Search the whole code base for where {about} is handled and report the file paths and line numbers."
            ),
            1 => format!(
                "Find in the code base where {about} is handled. Report file paths and line numbers. Be thorough."
            ),
            _ => format!(
                "Look through the code base again and find the place where {about} is handled; report file path and line numbers."
            ),
        };
        made.call(
            "Task",
            json!({"description": format!("Find {about}"), "prompt": prompt, "subagent_type": "general-purpose"}),
            json!([{"type": "text", "text": format!("I searched the code base and could not find any code that handles {about}. It may not be implemented yet.")}]),
        );
        made.again();
    }
}

fn paths_missing(made: &mut Made) {
    made.begin(8);
    let name = made.words(2).replace(' ', "-");
    for round in 0..ROUNDS {
        let dir = made.pick(&["docs", "src", "config", "assets", "data", "notes"]);
        let path = match round % 3 {
            0 => format!("/home/me/{dir}/{name}.md"),
            1 => format!("/home/me/project/{dir}/{name}.md"),
            _ => format!("/home/me/{name}/{dir}.md"),
        };
        made.call(
            "read_text_file",
            json!({"path": path}),
            json!({"content": [{"type": "text", "text": format!("Error: ENOENT: no such file or directory, open '{path}'")}], "isError": true}),
        );
        made.again();
    }
}

fn cell_again(made: &mut Made) {
    made.begin(8);
    let (column, frame) = (made.word(), made.pick(&["df", "data", "table"]));
    let mut count = made.between(3, 30);
    for round in 0..ROUNDS {
        let code = match round % 3 {
            0 => format!("{frame}.groupby('{column}').size().sort_values()"),
            1 => format!("result = {frame}.groupby(['{column}']).agg('count')\nresult.head()"),
            _ => format!("{frame}['{column}'].value_counts()"),
        };
        count += 1;
        made.call(
            "execute_code",
            json!({"code": code}),
            format!("---------------------------------------------------------------------------\nKeyError                                  Traceback (most recent call last)\nCell In[{count}], line 1\n----> 1 {}\n\nFile /opt/lib/python3.11/site-packages/pandas/core/frame.py:4102, in DataFrame.__getitem__(self, key)\nKeyError: '{column}'", code.lines().next().unwrap_or("")),
        );
        made.again();
    }
}

fn open_find(made: &mut Made) {
    made.begin(8);
    let (query, site, pattern) = (made.words(4), made.word(), made.word());
    let hits: Vec<_> = (0..4).map(|_| made.words(9)).collect();
    let text = made.words(30);
    let mut cursor = 0;
    for _ in 0..ROUNDS {
        let listed: Vec<_> = hits
            .iter()
            .enumerate()
            .map(|(id, hit)| format!("【{cursor}†{id}†{hit}】"))
            .collect();
        made.call(
            "browser.search",
            json!({"query": query}),
            format!("[{cursor}] Search results: {query}\n{}", listed.join("\n")),
        );
        made.call(
            "browser.open",
            json!({"cursor": cursor, "id": 1}),
            format!(
                "[{}] https://{site}.example/about\nL0: {text}\n**viewing lines [0 - 30] of 30**",
                cursor + 1
            ),
        );
        made.call(
            "browser.find",
            json!({"cursor": cursor + 1, "pattern": pattern}),
            format!(
                "[{}] Find results for text: `{pattern}` in `https://{site}.example/about`\nNo `find` results for pattern: `{pattern}`",
                cursor + 2
            ),
        );
        cursor += 3;
        made.again();
    }
}

fn passages_timed(made: &mut Made) {
    made.begin(8);
    let words = made.some_words(4);
    let passages: Vec<_> = (0..3)
        .map(|id| format!("[doc {id}] {}", made.words(20)))
        .collect();
    for round in 0..ROUNDS {
        let query = match round % 4 {
            0 => words.join(" "),
            1 => format!("what does the manual say of {} {}", words[0], words[1]),
            2 => format!("{} AND {}", words[2], words[0]),
            _ => format!("explain {} with regard to {}", words[3], words[1]),
        };
        let (id, took) = (made.hex(), made.between(12, 480));
        made.call(
            "knowledge_base_search",
            json!({"query": query}),
            json!({"request_id": id, "took_ms": took, "passages": passages}),
        );
        made.again();
    }
}

fn no_rows(made: &mut Made) {
    made.begin(8);
    let (table, column, value) = (made.word(), made.word(), made.word());
    for round in 0..ROUNDS {
        let (query, columns) = match round % 4 {
            0 => (
                format!("SELECT * FROM {table} WHERE {column} = '{value}'"),
                json!(["id", column]),
            ),
            1 => (
                format!("SELECT id FROM {table} WHERE lower({column}) LIKE '%{value}%'"),
                json!(["id"]),
            ),
            2 => (
                format!(
                    "select {column}, id from {table} where {column} ilike '{value}%' limit 10"
                ),
                json!([column, "id"]),
            ),
            _ => (
                format!(
                    "SELECT count(id), {column} FROM {table} WHERE trim({column}) = '{value}' GROUP BY {column}"
                ),
                json!(["count", column]),
            ),
        };
        made.call(
            "query_database",
            json!({"sql": query}),
            json!({"columns": columns, "rows": [], "row_count": 0}),
        );
        made.again();
    }
}

fn eight_ranges(made: &mut Made) {
    made.begin(8);
    let path = made.file();
    let ranges: Vec<_> = (0..8).map(|_| made.words(24)).collect();
    for _ in 0..4 {
        for (place, text) in ranges.iter().enumerate() {
            made.call(
                "view",
                json!({"path": path, "view_range": [place * 100 + 1, place * 100 + 100]}),
                format!("{}\t{text}", place * 100 + 1),
            );
        }
        made.again();
    }
}

fn empty_pages_numbered(made: &mut Made) {
    made.begin(8);
    let category = made.word();
    let style = made.below(2);
    let from = made.between(8, 30);
    for page in from..from + ROUNDS {
        let output = if style == 0 {
            json!({"page": page, "items": [], "has_more": true, "total": 96})
        } else {
            json!(format!(
                "Page {page} of category '{category}': 0 products on this page."
            ))
        };
        made.call(
            "fetch_page",
            json!({"category": category, "page": page}),
            output,
        );
        made.again();
    }
}

fn plan_read_again(made: &mut Made) {
    made.begin(8);
    let tasks: Vec<_> = (0..5).map(|_| made.words(5)).collect();
    let list: Vec<_> = tasks.iter().map(|task| format!("- [ ] {task}")).collect();
    for _ in 0..ROUNDS {
        made.call("read_todo", json!({}), list.join("\n"));
        let thought = format!(
            "I should first look at the plan and decide which step to take. The next open step is {}. {}",
            tasks[0],
            made.words(4)
        );
        made.call(
            "think",
            json!({"thought": thought}),
            "Your thought has been logged.",
        );
        made.again();
    }
}

fn fact_saved_again(made: &mut Made) {
    made.begin(8);
    let (who, what) = (made.word(), made.words(4));
    for round in 0..ROUNDS {
        let fact = match round % 3 {
            0 => format!("The user's {who} prefers {what}."),
            1 => format!("User preference: {who} prefers {what}"),
            _ => format!("Remember that the {who} of the user prefers {what}"),
        };
        let id = made.hex();
        made.call(
            "save_memory",
            json!({"content": fact}),
            json!({"status": "saved", "memory_id": id}),
        );
        made.call(
            "recall",
            json!({"query": format!("{who} preferences")}),
            json!({"memories": [format!("The user's {who} prefers {what}.")]}),
        );
        made.again();
    }
}

fn other_language(made: &mut Made) {
    made.begin(8);
    let language = made.below(4);
    let nothing = [
        "Keine Ergebnisse gefunden.",
        "検索結果は見つかりませんでした。",
        "Ничего не найдено.",
        "Aucun résultat trouvé pour cette recherche.",
    ][language];
    let words = [
        ["Hafen", "Fähre", "Fahrplan", "Insel", "Preise", "Winter"],
        ["港", "フェリー", "時刻表", "島", "料金", "冬"],
        ["порт", "паром", "расписание", "остров", "цены", "зима"],
        ["port", "traversier", "horaire", "île", "tarifs", "hiver"],
    ][language];
    for round in 0..ROUNDS {
        let query: Vec<_> = (0..made.between(2, 4))
            .map(|place| words[(round * 2 + place * 3) % 6])
            .collect();
        made.call("websuche", json!({"query": query.join(" ")}), nothing);
        made.again();
    }
}

fn one_sum(made: &mut Made) {
    made.begin(8);
    let (a, b, c) = (
        made.between(11, 99),
        made.between(11, 99),
        made.between(2, 9),
    );
    for round in 0..ROUNDS {
        let expression = match round % 4 {
            0 => format!("{a} * {b} * {c}"),
            1 => format!("{c}*{a}*{b}"),
            2 => format!("({a} * {b}) * {c}"),
            _ => format!("{b} * {c} * {a}"),
        };
        made.call(
            "calculator",
            json!({"expression": expression}),
            json!({"result": a * b * c}),
        );
        made.again();
    }
}

fn fewer_fail(made: &mut Made) {
    made.begin(8);
    let (style, path) = (made.below(3), made.file());
    let failing = made.some_words(9);
    let mut left = failing.len();
    while left > 0 {
        edit(made, &path);
        if made.chance(40) {
            edit(made, &path);
        }
        let printed = pytest(made, &failing[..left], 60 - left);
        shell(made, style, "python -m pytest -q", 1, &printed);
        // Now and then an edit mends nothing.
        left -= usize::from(made.chance(75));
    }
    shell(made, style, "python -m pytest -q", 0, "60 passed in 3.21s");
}

fn bare_scroll(made: &mut Made) {
    made.begin(8);
    let path = made.file();
    made.call(
        "run",
        json!({"command": format!("open {path}")}),
        format!("[File: {path} (900 lines total)]"),
    );
    for part in 1..12 {
        let shown = snippet(made);
        made.call(
            "run",
            json!({"command": "scroll_down"}),
            format!("[File: {path} (900 lines total)]\n({} more lines above)\n{shown}\n({} more lines below)\n(Open file: {path})\nbash-$", part * 80, 900 - part * 80),
        );
    }
}

fn greps_some(made: &mut Made) {
    made.begin(8);
    let style = made.below(3);
    for _ in 0..16 {
        let (name, file) = (made.words(2).replace(' ', "_"), made.file());
        let command = format!("grep -rn {name} .");
        if made.chance(45) {
            shell(made, style, &command, 1, "");
        } else {
            let line = made.words(6);
            shell(
                made,
                style,
                &command,
                0,
                &format!("{file}:12: {name} = {line}"),
            );
        }
    }
}

fn catalogue(made: &mut Made) {
    made.begin(8);
    let url = format!("https://{}.example/shop", made.word());
    for page in 1..12 {
        let labels = made.some_words(6);
        let shown = elements(made, &format!("{url}?page={page}"), &labels);
        made.call(
            "click_element",
            json!({"index": 37}),
            format!("Clicked button with index 37: Next\n{shown}"),
        );
        made.call(
            "extract_content",
            json!({"goal": "names of all products on this page"}),
            format!("Extracted from page:\n{}", labels.join(", ")),
        );
    }
}

fn subagents_modules(made: &mut Made) {
    made.begin(8);
    for module in made.some_words(9) {
        let found = made.between(0, 6);
        let what = made.words(8);
        made.call(
            "Task",
            json!({"description": format!("Review {module}"), "prompt": format!("Review the module {module} for errors in the handling of resources. Report each finding with file and line. Do not change anything."), "subagent_type": "reviewer"}),
            json!([{"type": "text", "text": format!("I reviewed the module {module}. {found} findings: {what}")}]),
        );
    }
}

fn files_written(made: &mut Made) {
    made.begin(8);
    for _ in 0..14 {
        let (path, text) = (made.file(), made.words(30));
        made.call(
            "write_file",
            json!({"path": format!("/home/me/project/{path}"), "content": text}),
            json!({"content": [{"type": "text", "text": format!("Successfully wrote to /home/me/project/{path}")}]}),
        );
        if made.chance(30) {
            made.call(
                "list_directory",
                json!({"path": "/home/me/project"}),
                json!({"content": [{"type": "text", "text": "[DIR] src\n[DIR] lib\n[DIR] app\n[DIR] tests\n[FILE] README.md"}]}),
            );
        }
    }
}

fn head_each_step(made: &mut Made) {
    made.begin(8);
    for count in 0..9 {
        let (column, word) = (made.word(), made.word());
        made.call(
            "execute_code",
            json!({"code": format!("df['{column}_{count}'] = df['{word}'].fillna(0).astype(int)")}),
            "",
        );
        let row = made.words(5);
        made.call(
            "execute_code",
            json!({"code": "df.head()"}),
            format!(
                "Out[{}]:\n   id  {column}_{count}\n0   1  {row}\n1   2  {row}",
                count * 2 + 2
            ),
        );
    }
}

fn pictures(made: &mut Made) {
    made.begin(8);
    for _ in 0..10 {
        let words = made.some_words(3);
        let code = format!(
            "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(6.4, 4.8))\nax.scatter(df['{}'], df['{}'])\nax.set_title('{}')\nplt.show()",
            words[0], words[1], words[2]
        );
        made.call("execute_code", json!({"code": code}), "<Figure size 640x480 with 1 Axes>\n[image omitted: the figure was shown to the user in the notebook]");
    }
}

fn leads_followed(made: &mut Made) {
    made.begin(8);
    let mut cursor = 0;
    for _ in 0..7 {
        let (query, hits, site, pattern) =
            (made.words(4), made.words(12), made.word(), made.word());
        made.call(
            "browser.search",
            json!({"query": query}),
            format!("[{cursor}] Search results: {query}\n{hits}"),
        );
        let hit = made.below(8);
        let text = made.words(30);
        made.call(
            "browser.open",
            json!({"cursor": cursor, "id": hit}),
            format!(
                "[{}] https://{site}.example/\nL0: {text}\n**viewing lines [0 - 30] of 30**",
                cursor + 1
            ),
        );
        cursor += 2;
        if made.chance(60) {
            made.call(
                "browser.find",
                json!({"cursor": cursor, "pattern": pattern}),
                format!("[{cursor}] Find results for text: `{pattern}`\nNo `find` results for pattern: `{pattern}`"),
            );
            cursor += 1;
        }
    }
}

fn handbook(made: &mut Made) {
    made.begin(8);
    let passages: Vec<_> = (0..5)
        .map(|id| format!("[handbook {id}] {}", made.words(18)))
        .collect();
    for _ in 0..12 {
        let topic = made.words(3);
        let from = made.below(4);
        made.call(
            "knowledge_base_search",
            json!({"query": format!("rules for {topic}")}),
            json!({"passages": [passages[from], passages[from + 1]]}),
        );
        made.says(&format!("As to {topic}: {}.", made_sentence(from)));
    }
}

fn made_sentence(place: usize) -> &'static str {
    [
        "the handbook asks for a form",
        "the head of the unit decides",
        "there is no such rule",
        "it is allowed twice a year",
    ][place % 4]
}

fn checks_clean(made: &mut Made) {
    made.begin(8);
    for table in made.some_words(12) {
        let column = made.word();
        let query = match made.below(4) {
            0 => format!("SELECT id FROM {table} WHERE {column} IS NULL"),
            1 => format!(
                "SELECT {column}, count(*) FROM {table} GROUP BY {column} HAVING count(*) > 1"
            ),
            2 => format!(
                "SELECT t.id FROM {table} t LEFT JOIN {column} c ON c.id = t.{column}_id WHERE c.id IS NULL"
            ),
            _ => format!("SELECT id FROM {table} WHERE {column} < 0 OR {column} > 1000000"),
        };
        let rows = if made.chance(15) {
            json!([[made.between(1, 900)]])
        } else {
            json!([])
        };
        let found = rows.as_array().map_or(0, Vec::len);
        made.call(
            "query_database",
            json!({"sql": query}),
            json!({"rows": rows, "row_count": found}),
        );
    }
}

fn ranges_commented(made: &mut Made) {
    made.begin(8);
    for path in (0..3).map(|_| made.file()).collect::<Vec<_>>() {
        for from in (0..5).map(|part| part * 120 + 1) {
            let (text, comment) = (made.words(24), made.words(11));
            made.call(
                "view",
                json!({"path": path, "view_range": [from, from + 119]}),
                format!("{from}\t{text}"),
            );
            if made.chance(70) {
                made.call(
                    "add_review_comment",
                    json!({"path": path, "line": from + 7, "body": comment}),
                    json!({"status": "success", "message": "The comment has been added to the pending review.", "review_state": "PENDING"}),
                );
            }
        }
    }
}

fn shelves(made: &mut Made) {
    made.begin(8);
    for category in made.some_words(14) {
        let empty = made.chance(40);
        let pages = if empty { 1 } else { made.between(1, 3) };
        for page in 1..=pages {
            let items: Vec<_> = (0..if empty { 0 } else { 3 })
                .map(|_| made.words(3))
                .collect();
            made.call(
                "fetch_page",
                json!({"category": category, "page": page}),
                json!({"page": page, "items": items, "has_more": page < pages}),
            );
        }
    }
}

fn plan_each_step(made: &mut Made) {
    made.begin(8);
    let tasks: Vec<_> = (0..3).map(|_| made.words(5)).collect();
    for done in 0..3 {
        let list: Vec<_> = tasks
            .iter()
            .enumerate()
            .map(|(place, task)| format!("- [{}] {task}", if place < done { 'x' } else { ' ' }))
            .collect();
        for _ in 0..made.between(3, 5) {
            made.call("read_todo", json!({}), list.join("\n"));
            let steps = made.between(1, 3);
            made.work(steps);
        }
        made.call("complete_todo", json!({"number": done + 1}), "ok");
    }
}

fn memory_kept(made: &mut Made) {
    made.begin(8);
    for _ in 0..8 {
        let (topic, fact) = (made.word(), made.words(8));
        made.user();
        made.call(
            "recall",
            json!({"query": format!("what is known of {topic}")}),
            json!({"memories": []}),
        );
        made.call(
            "web_search",
            json!({"query": format!("{topic} facts")}),
            json!({"results": [fact]}),
        );
        let id = made.hex();
        made.call(
            "save_memory",
            json!({"content": format!("{topic}: {fact}")}),
            json!({"status": "saved", "memory_id": id}),
        );
        made.says(&format!("I have looked up {topic}: {fact}."));
    }
}

fn linter(made: &mut Made) {
    made.begin(8);
    let style = made.below(3);
    for _ in 0..14 {
        let file = made.file();
        if made.chance(50) {
            edit(made, &file);
        }
        let took = made.between(5, 90);
        shell(
            made,
            style,
            &format!("npx biome check {file}"),
            0,
            &format!("Checked 1 file in {took}ms. No fixes applied."),
        );
    }
}

fn primes(made: &mut Made) {
    made.begin(8);
    let from = made.between(100, 900);
    for number in from..from + 16 {
        let prime = (2..number)
            .take_while(|part| part * part <= number)
            .all(|part| number % part != 0);
        made.call("is_prime", json!({"n": number}), json!(prime));
    }
}

fn training(made: &mut Made) {
    made.begin(8);
    let style = made.below(3);
    let mut step = made.between(100, 900);
    for _ in 0..12 {
        step += made.between(20, 400);
        let loss = made.between(200, 900) as f64 / 1_000.0;
        let rate = made.between(80, 99);
        made.pause(30);
        shell(
            made,
            style,
            "tail -n 1 train.log",
            0,
            &format!("step {step} loss {loss:.3} lr 0.0003 throughput {rate} it/s"),
        );
    }
}
