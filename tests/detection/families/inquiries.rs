//! Agents that ask, read, fill in and answer: browsers, researchers, analysts, desks of support; loops, and work that looks like
//! them, of twenty to sixty calls. Written before it was measured what is found of them.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("mail: answers to answers, ever longer subjects", 7, answers),
    ("reviewer: the same wants on ever new drafts", 7, same_wants),
    ("form: a list of objects is refused", 6, list_refused),
    ("pages: a cursor that leads back", 4, cursor_back),
    ("research: other years, the same hits", 6, other_years),
    ("browser: next month, and back", 6, next_and_back),
    ("support: nobody is free to take over", 7, nobody_free),
    ("research: every page of a house is closed", 6, pages_closed),
];

pub(super) const WORK: &[Work] = &[
    ("pages: by a cursor that says nothing", cursor_pages),
    ("addresses: orders by their ids", orders_by_id),
    ("addresses: files of a release by their ids", files_by_id),
    ("research: thirty questions in one frame", thirty_questions),
    ("research: a book in pieces, some alike", book_in_pieces),
    ("research: claims, most of them unproven", claims_unproven),
    ("form: twenty lines of an invoice", twenty_lines),
    ("form: a list of objects, some refused", list_mended),
    ("browser: month after month", month_by_month),
    ("browser: hits opened, and back each time", opened_and_back),
    ("support: one customer, many orders", one_customer),
    ("support: refunds given one by one", refunds),
    ("mail: a bargain in many letters", bargain),
    ("mail: sorted into folders", sorted),
    ("labels: one picture after the other", labelled),
    ("drafts: reviewed, and better each time", drafts_better),
    ("strings: looked up and set", strings_set),
    ("people: free hours of each", free_hours),
    ("approval: asked once a minute, then given", approval_comes),
    ("sheet: filled row by row, then summed", row_by_row),
];

const ROUNDS: usize = 10;

fn uuid(made: &mut Made) -> String {
    let id = made.hex();
    format!(
        "{}-{}-4{}-8{}-{}",
        &id[..8],
        &id[8..12],
        &id[13..16],
        &id[17..20],
        &id[20..32]
    )
}

/// Two programs answer each other: each letter says the same, under a subject that grows, and gets an id of its own.
fn answers(made: &mut Made) {
    made.begin(6);
    let (about, from) = (made.words(3), made.word());
    let style = made.below(2);
    let mut subject = about.clone();
    for _ in 0..ROUNDS {
        let id = made.hex()[..12].to_owned();
        made.call(
            "read_inbox",
            json!({"unread": true}),
            json!([{"id": id, "from": format!("{from}@desk.example"), "subject": subject, "body": "Thank you for your message. We will come back to you within two working days."}]),
        );
        subject = if style == 0 {
            format!("Re: {subject}")
        } else {
            format!("AW: Re: {subject}")
        };
        let sent = made.hex()[..12].to_owned();
        made.call(
            "send_email",
            json!({"to": format!("{from}@desk.example"), "subject": subject, "body": "Thank you for letting us know. Please tell us when the matter is settled."}),
            json!({"message_id": sent, "status": "sent"}),
        );
        made.again();
    }
}

/// A draft is written anew each time, and the reviewer wants the same in nearly the same words.
fn same_wants(made: &mut Made) {
    made.begin(6);
    let wants = [
        "The draft needs concrete numbers in its second section before it can be accepted.",
        "Before this can be accepted, the second section of the draft needs concrete numbers.",
        "Still missing: concrete numbers in the second section. The draft cannot be accepted before.",
    ];
    let style = made.below(2);
    for round in 0..ROUNDS {
        made.as_agent("writer");
        let draft = (0..4)
            .map(|_| made.words(12))
            .collect::<Vec<_>>()
            .join(". ");
        if style == 0 {
            made.call("write_draft", json!({"text": draft}), "saved");
            made.as_agent("reviewer");
            made.call(
                "review",
                json!({"text": draft}),
                json!({"accepted": false, "remarks": wants[round % 3]}),
            );
        } else {
            made.says(&draft);
            made.as_agent("reviewer");
            made.says(wants[round % 3]);
        }
        made.again();
    }
}

/// Lines of an order, sent as a list of objects that is put otherwise each time, and refused for the same reason.
fn list_refused(made: &mut Made) {
    made.begin(6);
    let customer = made.between(1_000, 9_999);
    for _ in 0..ROUNDS {
        let lines: Vec<Value> = (0..made.between(2, 4))
            .map(|_| json!({"sku": made.word(), "quantity": made.between(1, 9), "price": made.between(1, 90)}))
            .collect();
        made.call(
            "submit_order",
            json!({"customer": customer, "lines": lines}),
            json!({"success": false, "message": "lines: each line must name a warehouse"}),
        );
        made.again();
    }
}

fn cursor_back(made: &mut Made) {
    made.begin(6);
    let cursors: Vec<String> = (0..3).map(|_| made.hex()).collect();
    let pages: Vec<Value> = (0..3)
        .map(|page| json!({"items": (0..4).map(|_| json!({"id": made.between(1, 9_999), "title": made.words(3)})).collect::<Vec<_>>(), "next_cursor": cursors[(page + 1) % 3]}))
        .collect();
    for _ in 0..ROUNDS {
        for (cursor, page) in cursors.iter().zip(&pages) {
            made.call(
                "list_tickets",
                json!({"cursor": cursor, "limit": 4}),
                page.clone(),
            );
        }
        made.again();
    }
}

/// One question with other years and words behind it, which finds the same hits.
fn other_years(made: &mut Made) {
    made.begin(6);
    let about = made.words(3);
    let hits: Vec<Value> = (0..5).map(|_| json!({"title": made.words(5), "url": format!("https://{}.example/{}", made.word(), made.word())})).collect();
    for _ in 0..ROUNDS {
        let (year, more) = (
            made.between(2018, 2026),
            made.pick(&["", " report", " statistics", " pdf"]),
        );
        made.call(
            "web_search",
            json!({"query": format!("{about}{more} {year}")}),
            json!({"results": hits}),
        );
        made.again();
    }
}

fn next_and_back(made: &mut Made) {
    made.begin(6);
    let page = |month: &str, made: &mut Made| {
        let at = made.time();
        format!(
            "- Page URL: https://hotel.example/book\n- heading \"{month} 2027\" [level=2]\n- text: no rooms free this month\n- button \"Previous month\"\n- button \"Next month\"\n- text: prices as of {at}"
        )
    };
    for _ in 0..ROUNDS {
        let refs = [made.between(10, 99), made.between(10, 99)];
        let shown = page("May", made);
        made.call(
            "browser_click",
            json!({"element": "Next month", "ref": format!("e{}", refs[0])}),
            shown,
        );
        let shown = page("April", made);
        made.call(
            "browser_click",
            json!({"element": "Previous month", "ref": format!("e{}", refs[1])}),
            shown,
        );
        made.again();
    }
}

fn nobody_free(made: &mut Made) {
    made.begin(6);
    let customer = made.between(1_000, 9_999);
    for _ in 0..ROUNDS {
        let reason = made.words(5);
        made.call(
            "transfer_to_human",
            json!({"customer": customer, "summary": reason}),
            json!({"transferred": false, "reason": "no agents available", "queue_position": null}),
        );
        if made.chance(60) {
            let word = made.word();
            made.says(&format!(
                "I am connecting you with a colleague about {word}. One moment, please."
            ));
        }
        made.again();
    }
}

/// Addresses of one house, all of which are refused.
fn pages_closed(made: &mut Made) {
    made.begin(6);
    let house = made.word();
    for _ in 0..ROUNDS {
        let url = format!(
            "https://www.{house}.example/{}/{}-{}",
            made.word(),
            made.word(),
            made.word()
        );
        made.fails(
            "open_url",
            json!({"url": url}),
            &format!("403 Client Error: Forbidden for url: {url}"),
        );
        made.again();
    }
}

fn cursor_pages(made: &mut Made) {
    made.begin(6);
    let mut cursor = Value::Null;
    for _ in 0..made.between(20, 35) {
        let next = made.hex();
        let items: Vec<Value> = (0..3).map(|_| json!({"id": uuid(made), "status": made.pick(&["open", "closed"]), "customer": uuid(made)})).collect();
        made.call(
            "list_tickets",
            json!({"cursor": cursor, "limit": 3}),
            json!({"items": items, "has_more": true, "next_cursor": next}),
        );
        cursor = json!(next);
    }
}

/// Orders that are really different, each asked for by its address; the answers are much alike.
fn orders_by_id(made: &mut Made) {
    made.begin(6);
    let style = made.below(3);
    for _ in 0..made.between(20, 30) {
        let id = uuid(made);
        let state = made.pick(&["shipped", "shipped", "shipped", "paid"]);
        match style {
            0 => made.call("http_get", json!({"url": format!("https://shop.example/api/orders/{id}")}), json!({"status": state})),
            1 => made.call("http_get", json!({"url": format!("https://shop.example/api/orders/{id}")}), json!({"id": id, "status": state, "carrier": "post", "currency": "EUR", "items": 1})),
            _ => made.sh(&format!("curl -s https://shop.example/api/orders/{id} | jq -r .status"), state),
        }
    }
}

fn files_by_id(made: &mut Made) {
    made.begin(6);
    for _ in 0..made.between(20, 30) {
        let (id, name, size) = (made.hex(), made.file(), made.between(1_000, 900_000));
        let url = format!("https://files.example/releases/{}/download", &id[..24]);
        made.call(
            "download",
            json!({"url": url}),
            format!("saved {name} ({size} bytes)"),
        );
        made.sh(
            &format!("sha256sum -c {name}.sha256"),
            &format!("{name}: OK"),
        );
    }
}

/// Questions in one frame, about another thing each; hits overlap.
fn thirty_questions(made: &mut Made) {
    made.begin(6);
    let place = made.word();
    let pool: Vec<Value> = (0..12).map(|_| json!({"title": made.words(5), "url": format!("https://{}.example/{}", made.word(), made.word())})).collect();
    for name in made.some_words(30) {
        let mut hits: Vec<Value> = (0..3)
            .map(|_| pool[made.below(pool.len())].clone())
            .collect();
        if made.chance(60) {
            hits.push(json!({"title": format!("{name} in {place}"), "url": format!("https://{name}.example")}));
        }
        made.call(
            "web_search",
            json!({"query": format!("history of {name} production in {place}")}),
            json!({"results": hits}),
        );
    }
}

fn book_in_pieces(made: &mut Made) {
    made.begin(6);
    let book = made.word();
    for piece in 0..made.between(25, 40) {
        let text = if made.chance(15) {
            "[This page is left blank.]".to_owned()
        } else {
            made.words(35)
        };
        made.call(
            "read_pdf",
            json!({"path": format!("/data/{book}.pdf"), "page": piece + 1}),
            text,
        );
    }
}

fn claims_unproven(made: &mut Made) {
    made.begin(6);
    for _ in 0..made.between(14, 20) {
        let claim = made.words(7);
        let found = made.chance(35);
        let hits = if found {
            json!([{"title": made.words(5), "snippet": made.words(12)}])
        } else {
            json!([])
        };
        made.call(
            "search_archive",
            json!({"query": claim}),
            json!({"results": hits}),
        );
        let verdict = if found { "supported" } else { "no evidence" };
        made.call(
            "record_verdict",
            json!({"claim": claim, "verdict": verdict}),
            json!({"saved": true}),
        );
    }
}

/// The lines of an invoice are filled in one by one; the page is looked at now and then.
fn twenty_lines(made: &mut Made) {
    made.begin(6);
    let mut filled = Vec::new();
    for line in 0..made.between(16, 22) {
        let (text, price) = (made.words(2), made.between(1, 900));
        made.call(
            "fill",
            json!({"selector": format!("#lines_{line}_description"), "value": text}),
            "ok",
        );
        made.call(
            "fill",
            json!({"selector": format!("#lines_{line}_price"), "value": price.to_string()}),
            "ok",
        );
        filled.push(format!("textbox \"Line {line}\": {text} {price}"));
        if line % 4 == 3 {
            made.call("snapshot", json!({}), filled.join("\n"));
        }
    }
    made.call("click", json!({"selector": "#submit"}), "ok");
}

/// Orders for many customers, sent as lists of objects; some are refused at first, and mended.
fn list_mended(made: &mut Made) {
    made.begin(6);
    for _ in 0..made.between(14, 20) {
        let customer = made.between(1_000, 9_999);
        let mut lines: Vec<Value> = (0..made.between(2, 4))
            .map(|_| json!({"sku": made.word(), "quantity": made.between(1, 9)}))
            .collect();
        if made.chance(40) {
            made.call(
                "submit_order",
                json!({"customer": customer, "lines": lines}),
                json!({"success": false, "message": "lines: each line must name a warehouse"}),
            );
            for line in &mut lines {
                line["warehouse"] = json!(made.word());
            }
        }
        let number = made.between(10_000, 99_999);
        made.call(
            "submit_order",
            json!({"customer": customer, "lines": lines}),
            json!({"success": true, "order": number}),
        );
    }
}

fn month_by_month(made: &mut Made) {
    made.begin(6);
    let months = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    for month in 0..made.between(20, 30) {
        let (name, year) = (months[month % 12], 2027 + month / 12);
        let free = if made.chance(30) {
            format!("{} rooms free", made.between(1, 9))
        } else {
            "no rooms free this month".to_owned()
        };
        made.call(
            "browser_click",
            json!({"element": "Next month", "ref": "e41"}),
            format!("- Page URL: https://hotel.example/book\n- heading \"{name} {year}\" [level=2]\n- text: {free}\n- button \"Previous month\" [ref=e40]\n- button \"Next month\" [ref=e41]"),
        );
    }
}

/// The hits of a list are opened one by one; each time the list is gone back to.
fn opened_and_back(made: &mut Made) {
    made.begin(6);
    let names = made.some_words(14);
    let list = names
        .iter()
        .map(|name| format!("- link \"{name}\" [ref={name}]"))
        .collect::<Vec<_>>()
        .join("\n");
    for name in &names {
        let text = made.words(20);
        made.call(
            "browser_click",
            json!({"ref": name}),
            format!("# {name}\n{text}"),
        );
        made.call("browser_back", json!({}), list.clone());
        if made.chance(30) {
            let price = made.between(10, 900);
            made.says(&format!("{name} costs {price} euros."));
        }
    }
}

fn one_customer(made: &mut Made) {
    made.begin(6);
    let customer = made.between(1_000, 9_999);
    for _ in 0..made.between(9, 12) {
        made.user();
        let (order, item) = (
            format!("W{}", made.between(1_000_000, 9_999_999)),
            made.word(),
        );
        made.call("get_order", json!({"order_id": order}), json!({"order_id": order, "customer": customer, "status": "delivered", "items": [item]}));
        made.call("get_policy", json!({"topic": "returns"}), "Goods may be returned within thirty days of delivery, unworn and with their label, at no cost to the customer.");
        made.call(
            "get_customer",
            json!({"id": customer}),
            json!({"id": customer, "name": "Ava Meier", "tier": "gold"}),
        );
        if made.chance(50) {
            made.call("create_return", json!({"order_id": order}), "ok");
        }
        made.says(&format!(
            "Your order {order} can be returned. Is there anything else?"
        ));
    }
}

fn refunds(made: &mut Made) {
    made.begin(6);
    let style = made.below(2);
    for _ in 0..made.between(22, 32) {
        let (order, amount) = (made.between(100_000, 999_999), made.between(5, 400));
        let answer = if style == 0 {
            json!("ok")
        } else {
            json!({"status": "refunded"})
        };
        made.call(
            "issue_refund",
            json!({"order_id": order, "amount": amount, "reason": "damaged in transit"}),
            answer,
        );
    }
}

/// Two sides bargain: the subject grows with each letter, and each letter says something else.
fn bargain(made: &mut Made) {
    made.begin(6);
    let (about, from) = (made.words(3), made.word());
    let mut subject = about;
    let mut price = made.between(4_000, 9_000);
    for _ in 0..made.between(9, 13) {
        price -= made.between(20, 200);
        let [theirs, ours] = [made.words(4), made.words(4)];
        let (id, sent) = (made.hex()[..12].to_owned(), made.hex()[..12].to_owned());
        made.call(
            "read_inbox",
            json!({"unread": true}),
            json!([{"id": id, "from": format!("{from}@trade.example"), "subject": subject, "body": format!("We could do it for {price} euros, {theirs}.")}]),
        );
        subject = format!("Re: {subject}");
        made.call(
            "send_email",
            json!({"to": format!("{from}@trade.example"), "subject": subject, "body": format!("We had thought of {} euros, {ours}.", price - 300)}),
            json!({"message_id": sent, "status": "sent"}),
        );
    }
}

fn sorted(made: &mut Made) {
    made.begin(6);
    let style = made.below(2);
    let mut left = made.between(40, 60);
    for _ in 0..made.between(20, 28) {
        let id = made.hex()[..12].to_owned();
        let folder = made.pick(&["Bills", "Travel", "Archive"]);
        made.call(
            "move_message",
            json!({"id": id, "folder": folder}),
            if style == 0 {
                json!({"moved": true})
            } else {
                json!("done")
            },
        );
        left -= 1;
        if made.chance(25) {
            made.call(
                "count_unread",
                json!({"folder": "Inbox"}),
                json!({"unread": left}),
            );
        }
    }
}

/// Pictures are handed out one by one, and get one of three labels.
fn labelled(made: &mut Made) {
    made.begin(6);
    for _ in 0..made.between(18, 28) {
        let id = uuid(made);
        made.call("next_item", json!({}), json!({"item_id": id, "kind": "photo", "instructions": "Choose one label for what is in the middle."}));
        let label = made.pick(&["cat", "dog", "neither"]);
        made.call(
            "submit_label",
            json!({"item_id": id, "label": label}),
            json!({"ok": true}),
        );
    }
}

fn drafts_better(made: &mut Made) {
    made.begin(6);
    for round in 0..made.between(8, 11) {
        made.as_agent("writer");
        let draft = (0..4)
            .map(|_| made.words(12))
            .collect::<Vec<_>>()
            .join(". ");
        made.call("write_draft", json!({"text": draft}), "saved");
        made.as_agent("reviewer");
        let (want, part) = (made.words(6), made.word());
        made.call("review", json!({"text": draft}), json!({"accepted": false, "remarks": format!("The part about {part} needs {want}; version {round} is better than the one before.")}));
    }
}

/// Strings of a catalogue are looked up, most of them missing, and set in another language.
fn strings_set(made: &mut Made) {
    made.begin(6);
    for _ in 0..made.between(14, 22) {
        let key = format!("{}.{}.{}", made.word(), made.word(), made.word());
        made.call(
            "get_string",
            json!({"key": key, "language": "de"}),
            Value::Null,
        );
        let text = made.words(3);
        made.call(
            "set_string",
            json!({"key": key, "language": "de", "text": text}),
            json!({"ok": true}),
        );
    }
}

fn free_hours(made: &mut Made) {
    made.begin(6);
    let people = [
        "Ava Meier",
        "Ben Olsen",
        "Carla Ruiz",
        "Dan Novak",
        "Eva Lang",
        "Finn Bauer",
        "Gina Rossi",
        "Hugo Blanc",
    ];
    for day in 1..=3 {
        for person in people {
            let busy = if made.chance(50) {
                json!([])
            } else {
                json!([{"from": "10:00", "to": "11:00"}])
            };
            made.call(
                "get_busy",
                json!({"person": person, "day": format!("2027-02-0{day}")}),
                json!({"person": person, "busy": busy}),
            );
        }
    }
}

fn approval_comes(made: &mut Made) {
    made.begin(6);
    let id = made.between(1_000, 9_999);
    for _ in 0..made.between(7, 9) {
        made.call(
            "get_approval",
            json!({"request": id}),
            json!({"request": id, "state": "pending", "approver": "ops"}),
        );
        made.pause(60);
    }
    made.call(
        "get_approval",
        json!({"request": id}),
        json!({"request": id, "state": "approved", "approver": "ops"}),
    );
    made.work(12);
}

/// Cells are written one by one; the sum is read after each row.
fn row_by_row(made: &mut Made) {
    made.begin(6);
    let mut sum = 0;
    for row in 2..made.between(14, 20) {
        let (name, amount) = (made.word(), made.between(0, 3) * 50);
        made.call(
            "write_cell",
            json!({"cell": format!("A{row}"), "value": name}),
            json!({"updated": 1}),
        );
        made.call(
            "write_cell",
            json!({"cell": format!("B{row}"), "value": amount}),
            json!({"updated": 1}),
        );
        sum += amount;
        made.call(
            "read_cell",
            json!({"cell": "B1"}),
            json!({"cell": "B1", "value": sum}),
        );
    }
}
